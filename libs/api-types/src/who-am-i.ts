import { z } from 'zod';
import { ObjectName } from './field-names.ts';
import { JobLinks } from './job-links.ts';

/** Roles in a project, weakest first. `apps/api/src/auth/roles.ts` defines what each allows. */
export const PROJECT_ROLES = ['viewer', 'submitter', 'operator', 'admin'] as const;
/** Role in a project. */
export type ProjectRole = (typeof PROJECT_ROLES)[number];
/** Every role, least first; a cluster administrator has no project. */
export const ROLES = [...PROJECT_ROLES, 'clusterAdmin'] as const;
/** Role in a project or in the cluster. */
export type Role = (typeof ROLES)[number];

/** Whose a credential is: a person of an issuer, the owner of a service token, an account of Kubernetes, or a program beside the API. */
export const PRINCIPAL_KINDS = ['person', 'service', 'serviceAccount', 'command'] as const;
/** Kind of a caller of the API. */
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number];

/** Who asks, as the API knows it. */
export const WhoAmI = z
  .object({
    name: z.string(),
    role: z.enum(ROLES).describe('The highest of all that it has.'),
    project: z.string().nullable().describe('The only project that it belongs to; null: several, or every one.'),
    kind: z.enum(PRINCIPAL_KINDS).default('service'),
    memberships: z
      .array(z.object({ project: ObjectName, role: z.enum(PROJECT_ROLES) }))
      .default([])
      .describe('Projects that it belongs to, by name; none for cluster administrators, who may use every one.'),
    logLink: z
      .string()
      .optional()
      .describe(
        'Address of the whole logs in another system, with {namespace}, {job}, {attempt} and {rank} to be replaced; absent: none is configured.',
      ),
    jobLinks: JobLinks.optional().describe(
      'Links from the page of a job to other systems, such as TensorBoard or Grafana; absent: none is configured.',
    ),
  })
  .meta({ id: 'WhoAmI' });
export type WhoAmI = z.infer<typeof WhoAmI>;
