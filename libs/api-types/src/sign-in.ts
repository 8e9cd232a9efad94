import { z } from 'zod';
import { PROJECT_ROLES, ROLES } from './who-am-i.ts';

const timestamp = z.string().meta({ format: 'date-time' });

/** How people can sign in here. */
export const SignInMethods = z
  .object({
    issuer: z.string().nullable().describe('OpenID Connect issuer; null: with API tokens alone.'),
    commandLine: z
      .object({ clientId: z.string(), scopes: z.string() })
      .nullable()
      .describe('Client of `coxswain login` at the identity provider; null: sign-in from the command line is off.'),
  })
  .meta({ id: 'SignInMethods' });
export type SignInMethods = z.infer<typeof SignInMethods>;

/** An ID token fits a header of 8 kB many times over; what issuers give is 1 to 10 kB. */
const issuedToken = z.string().min(1).max(16_384);
/** What the issuer gave to the command line. */
export const SignInTrade = z
  .strictObject({
    idToken: issuedToken.describe('Issued in the last ten minutes, to the client of the command line. Taken once.'),
    accessToken: issuedToken.optional().describe('Used to read groups that the ID token does not contain.'),
    refreshToken: issuedToken
      .optional()
      .describe('By which groups are read again; without one the session may end after an hour.'),
  })
  .meta({ id: 'SignInTrade', examples: [{ idToken: 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl' }] });
export type SignInTrade = z.infer<typeof SignInTrade>;
/** How long somebody stays signed in on a command line at most. */
export const COMMAND_LINE_SESSION_HOURS = 12;
/** A Coxswain token from a sign-in. */
export const SignInToken = z
  .object({
    token: z.string().describe('Shown once; only a hash is stored.'),
    name: z.string(),
    expiresAt: timestamp.describe(`At most ${COMMAND_LINE_SESSION_HOURS} hours from now.`),
  })
  .meta({ id: 'SignInToken' });
export type SignInToken = z.infer<typeof SignInToken>;

/** Whom a role is given to: a group of the issuer, or of Kubernetes, or one account of Kubernetes. A name of one kind means nothing in another. */
export const GROUP_KINDS = ['group', 'kubernetesGroup', 'serviceAccount'] as const;
/** Kind of a group: of the identity provider, or a service account. */
export type GroupKind = (typeof GROUP_KINDS)[number];
const KIND_MEANING =
  'group: of the issuer, as it writes it in the claim that lists groups; kubernetesGroup: such as system:serviceaccounts:NAMESPACE; serviceAccount: one, as system:serviceaccount:NAMESPACE:NAME.';

/** An account of Kubernetes has at most 340 characters. */
const group = z.string().min(1).max(340);
/** What the members of a group, or one service account, are, in a project or (clusterAdmin) in the cluster. */
export const GroupRole = z
  .object({
    id: z.uuid(),
    kind: z.enum(GROUP_KINDS).default('group').describe(KIND_MEANING),
    issuer: z.string().nullable().describe('Identity provider of the group; null: the cluster itself.'),
    group,
    project: z.string().nullable().describe('null: the cluster.'),
    role: z.enum(ROLES),
    createdAt: timestamp,
  })
  .meta({ id: 'GroupRole' });
export type GroupRole = z.infer<typeof GroupRole>;
/** Body of the request that gives a group a role. */
export const GroupRoleCreate = z
  .strictObject({
    kind: z.enum(GROUP_KINDS).default('group').describe(KIND_MEANING),
    group: group.describe('Name of the group or account.'),
    role: z
      .enum(ROLES)
      .describe(`${PROJECT_ROLES.join(', ')} in a project; clusterAdmin for project "-", the cluster.`),
  })
  .meta({
    id: 'GroupRoleCreate',
    examples: [
      { group: 'researchers', role: 'submitter' },
      { kind: 'serviceAccount', group: 'system:serviceaccount:research:pipeline', role: 'submitter' },
    ],
  });
export type GroupRoleCreate = z.infer<typeof GroupRoleCreate>;
/** {@link GroupRoleCreate} as callers write it, without defaults. */
export type GroupRoleCreateInput = z.input<typeof GroupRoleCreate>;
/** All roles of groups. */
export const GroupRoleList = z.object({ items: z.array(GroupRole) }).meta({ id: 'GroupRoleList' });
export type GroupRoleList = z.infer<typeof GroupRoleList>;
