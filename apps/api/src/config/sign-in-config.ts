import { readFileSync } from 'node:fs';
import { z } from 'zod';

const text = z.string().min(1).max(1_000);
const HTTPS = 'must be an https:// URL; http only on loopback';

/** HTTPS, or a server on this machine. */
const secureUrl = z.url({ protocol: /^https?$/, error: HTTPS }).refine(
  (url) => {
    const { protocol, hostname } = new URL(url);
    return protocol === 'https:' || ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  },
  { error: HTTPS },
);

/** Variables by which people sign in with accounts of an issuer; none are needed where tokens are enough. */
export const SignInEnvironment = z.object({
  COXSWAIN_PUBLIC_URL: secureUrl.optional().describe('Where people reach this API; needed with an issuer.'),
  COXSWAIN_OIDC_ISSUER_URL: secureUrl.optional().describe('OpenID Connect issuer; absent: tokens alone.'),
  COXSWAIN_OIDC_CLIENT_ID: text.optional().describe('Of the page, at the issuer.'),
  COXSWAIN_OIDC_CLIENT_SECRET_FILE: text.optional().describe('File with its secret; absent: a public client.'),
  COXSWAIN_OIDC_CLI_CLIENT_ID: text
    .optional()
    .describe('A public client for the command line; default: that of the page, unless it has a secret.'),
  COXSWAIN_OIDC_SCOPES: text
    .default('openid profile email')
    .describe('Scopes that are asked for, separated by spaces.'),
  COXSWAIN_OIDC_GROUPS_CLAIM: text.default('groups').describe('The claim that lists the groups of a person.'),
  COXSWAIN_OIDC_ADMIN_GROUP: text.optional().describe('The group whose members are cluster administrators.'),
  COXSWAIN_SESSION_IDLE_MINUTES: z.coerce
    .number()
    .int()
    .min(5)
    .max(10_080)
    .default(480)
    .describe('A session of the page that nobody uses ends after this time.'),
  COXSWAIN_SESSION_HOURS: z.coerce.number().int().min(1).max(168).default(24).describe('Any session of the page ends.'),
});

/** How people sign in. */
export interface SignInConfig {
  readonly publicUrl: string;
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** Undefined: people cannot sign in on the command line. */
  readonly cliClientId: string | undefined;
  readonly scopes: string;
  readonly groupsClaim: string;
  readonly adminGroup: string | undefined;
  readonly idleMinutes: number;
  readonly sessionHours: number;
}

/** Undefined without an issuer. Throws with the names of variables that are missing. */
export function signInConfigOf(values: z.infer<typeof SignInEnvironment>): SignInConfig | undefined {
  const {
    COXSWAIN_OIDC_ISSUER_URL: issuerUrl,
    COXSWAIN_OIDC_CLIENT_ID: clientId,
    COXSWAIN_PUBLIC_URL: publicUrl,
  } = values;
  if (issuerUrl === undefined) return undefined;
  if (clientId === undefined || publicUrl === undefined) {
    throw new Error(
      'the environment cannot be used: with COXSWAIN_OIDC_ISSUER_URL set COXSWAIN_OIDC_CLIENT_ID and COXSWAIN_PUBLIC_URL',
    );
  }
  const secretFile = values.COXSWAIN_OIDC_CLIENT_SECRET_FILE;
  const clientSecret = secretFile === undefined ? undefined : readFileSync(secretFile, 'utf8').trim();
  const ownId = clientSecret === undefined ? clientId : undefined;
  return {
    publicUrl: new URL(publicUrl).origin,
    issuerUrl,
    clientId,
    clientSecret,
    cliClientId: values.COXSWAIN_OIDC_CLI_CLIENT_ID ?? ownId,
    scopes: values.COXSWAIN_OIDC_SCOPES,
    groupsClaim: values.COXSWAIN_OIDC_GROUPS_CLAIM,
    adminGroup: values.COXSWAIN_OIDC_ADMIN_GROUP,
    idleMinutes: values.COXSWAIN_SESSION_IDLE_MINUTES,
    sessionHours: values.COXSWAIN_SESSION_HOURS,
  };
}
