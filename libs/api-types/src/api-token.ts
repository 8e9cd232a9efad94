import { z } from 'zod';
import { GivenName } from './given-name.ts';
import { EXAMPLE_ROTATION, EXAMPLE_TOKEN } from './request-examples.ts';
import { PROJECT_ROLES } from './who-am-i.ts';

const timestamp = z.string().meta({ format: 'date-time' });

const tokenExpiry = {
  expiresAt: timestamp.optional().describe('Default: set by the installation, 90 days unless changed.'),
  neverExpires: z.boolean().default(false).describe('True in place of expiresAt: good until it is revoked.'),
};
/** Body of the request that creates a token. */
export const ApiTokenCreate = z
  .strictObject({
    name: GivenName,
    role: z.enum(PROJECT_ROLES).default('operator'),
    ...tokenExpiry,
  })
  .meta({ id: 'ApiTokenCreate', examples: [EXAMPLE_TOKEN] });
export type ApiTokenCreate = z.infer<typeof ApiTokenCreate>;
/** {@link ApiTokenCreate} as callers write it, without defaults. */
export type ApiTokenCreateInput = z.input<typeof ApiTokenCreate>;
/** Default time for which a rotated token stays valid. */
export const DEFAULT_OVERLAP_SECONDS = 86_400;
/** Body of the request that rotates a token. */
export const ApiTokenRotate = z
  .strictObject({
    overlapSeconds: z
      .int()
      .min(0)
      .max(30 * 86_400)
      .default(DEFAULT_OVERLAP_SECONDS)
      .describe('How long the old token stays good, at most until it expires; 0: not at all.'),
    ...tokenExpiry,
  })
  .meta({ id: 'ApiTokenRotate', examples: [EXAMPLE_ROTATION] });
export type ApiTokenRotate = z.infer<typeof ApiTokenRotate>;
/** {@link ApiTokenRotate} as callers write it, without defaults. */
export type ApiTokenRotateInput = z.input<typeof ApiTokenRotate>;
/** An API token, without its secret. */
export const ApiToken = z
  .object({
    id: z.uuid(),
    name: z.string(),
    role: z.enum(PROJECT_ROLES),
    prefix: z.string(),
    createdAt: timestamp,
    expiresAt: timestamp.nullable(),
    lastUsedAt: timestamp.nullable().describe('The hour in which it was last used, written at most once in it.'),
    rotatedFrom: z.uuid().nullable().describe('The token that it succeeds.'),
  })
  .meta({ id: 'ApiToken' });
export type ApiToken = z.infer<typeof ApiToken>;
/** A new token with its secret. */
export const ApiTokenCreated = ApiToken.extend({
  token: z.string().describe('Shown once; only a hash is stored.'),
}).meta({ id: 'ApiTokenCreated' });
export type ApiTokenCreated = z.infer<typeof ApiTokenCreated>;
/** A page of tokens. */
export const ApiTokenList = z.object({ items: z.array(ApiToken) }).meta({ id: 'ApiTokenList' });
export type ApiTokenList = z.infer<typeof ApiTokenList>;
