import { z } from 'zod';
import type { Passwords } from './prepare-database.ts';
import { PASSWORDS_SECRET } from './secret-names.ts';

const Environment = z.object({
  COXSWAIN_KUBECONFIG: z.string().min(1).optional(),
  COXSWAIN_NAMESPACE: z.string().min(1),
  COXSWAIN_EMBEDDED_DATABASE_HOST: z.string().min(1).optional().describe('Of the PostgreSQL that the chart made.'),
  COXSWAIN_ADMIN_DATABASE_URL_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('File that holds the URL of a role that owns the database and has CREATEROLE.'),
  COXSWAIN_DATABASE_CA_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('CA of that server; the API finds it under the same path.'),
});

/** How a database is prepared. */
export interface PrepareConfig {
  readonly kubeconfigPath: string | undefined;
  readonly namespace: string;
  readonly adminUrlOf: (passwords: Passwords) => string;
  /** What it means that this database refuses that password, where that passes. */
  readonly passwordRefused?: string;
}

/** What the environment says. Throws a sentence that names what is missing. */
export function readPrepareConfig(
  environment: Readonly<Record<string, string | undefined>>,
  read: (path: string) => string,
): PrepareConfig {
  const { data: env, error } = Environment.safeParse(environment);
  if (error !== undefined) {
    throw new Error(`the environment cannot be used: ${error.issues.map(({ path }) => path.join('.')).join(', ')}`);
  }
  const { COXSWAIN_EMBEDDED_DATABASE_HOST: host, COXSWAIN_ADMIN_DATABASE_URL_FILE: file } = env;
  const common = { kubeconfigPath: env.COXSWAIN_KUBECONFIG, namespace: env.COXSWAIN_NAMESPACE };
  if (host !== undefined) {
    // Within the cluster and without TLS: only pods of the API reach it (NetworkPolicy).
    const adminUrlOf = ({ admin }: Passwords): string =>
      `postgresql://postgres:${admin}@${host}/coxswain?sslmode=disable`;
    const { namespace } = common;
    // It takes the password of the Secret when it starts.
    const passwordRefused = `the database started before the Secret ${namespace}/${PASSWORDS_SECRET} was created again, so it rejects the new password. Restart it: kubectl -n ${namespace} rollout restart statefulset/coxswain-postgresql`;
    return { ...common, adminUrlOf, passwordRefused };
  }
  if (file === undefined) {
    throw new Error(
      'the environment cannot be used: set COXSWAIN_EMBEDDED_DATABASE_HOST or COXSWAIN_ADMIN_DATABASE_URL_FILE',
    );
  }
  const url = new URL(read(file));
  if (env.COXSWAIN_DATABASE_CA_FILE !== undefined) {
    url.searchParams.set('sslmode', 'verify-full');
    url.searchParams.set('sslrootcert', env.COXSWAIN_DATABASE_CA_FILE);
  }
  return { ...common, adminUrlOf: () => url.href };
}
