import { createHash } from 'node:crypto';
import { DomainError } from '@coxswain/domain-error';
import { firstOf, type Sql } from '@coxswain/persistence';
import type { Principal } from '../auth/principal.ts';

/** A key is forgotten after a day. */
export const IDEMPOTENCY_LIFETIME = '24 hours';

/** A request that may arrive more than once. */
export interface RepeatableRequest {
  readonly principal: Principal;
  readonly key: string;
  /** Everything that makes two requests the same. */
  readonly request: unknown;
}

/**
 * Runs `work` once per principal and key in the cluster of the caller's transaction, within it: the answer is stored with what it did, or neither is. A repetition gets the
 * stored answer; IDEMPOTENCY_KEY_REUSED for another request under the key; CONFLICT while the first is still under way.
 */
export async function withIdempotencyKey<T>(
  sql: Sql,
  repeatable: RepeatableRequest,
  work: () => Promise<T>,
): Promise<T> {
  const { principal, key } = repeatable;
  const free = firstOf(
    await sql.query<{ free: boolean }>(
      "SELECT pg_try_advisory_xact_lock(hashtextextended(scope_cluster() || '/' || $1, 1)) AS free",
      [`${principal.id}/${key}`],
    ),
  );
  if (free?.free !== true) {
    throw new DomainError('CONFLICT', 'a request with this Idempotency-Key is under way; try again in a second');
  }
  const before = await answeredBefore<T>(sql, repeatable);
  if (before !== undefined) return before;
  const response = await work();
  await sql.query(
    `INSERT INTO idempotency_keys (cluster_id, principal, key, request_sha256, response) VALUES (scope_cluster(), $1, $2, $3, $4)
     ON CONFLICT (cluster_id, principal, key) DO UPDATE
       SET request_sha256 = excluded.request_sha256, response = excluded.response, created_at = now()`,
    [principal.id, key, hashOf(repeatable), JSON.stringify(response)],
  );
  return response;
}

/** As {@link withIdempotencyKey} where there is a key. */
export function onceUnder<T>(
  sql: Sql,
  { key, ...repeatable }: Omit<RepeatableRequest, 'key'> & { readonly key: string | undefined },
  work: () => Promise<T>,
): Promise<T> {
  return key === undefined ? work() : withIdempotencyKey(sql, { ...repeatable, key }, work);
}

/** The answer that is stored for the key, if any; IDEMPOTENCY_KEY_REUSED when it answers another request. */
export async function answeredBefore<T>(sql: Sql, repeatable: RepeatableRequest): Promise<T | undefined> {
  const stored = firstOf(
    await sql.query<{ request_sha256: Buffer; response: T }>(
      `SELECT request_sha256, response FROM idempotency_keys
        WHERE cluster_id = scope_cluster() AND principal = $1 AND key = $2 AND created_at > now() - interval '${IDEMPOTENCY_LIFETIME}'`,
      [repeatable.principal.id, repeatable.key],
    ),
  );
  if (stored === undefined || stored.request_sha256.equals(hashOf(repeatable))) return stored?.response;
  throw new DomainError(
    'IDEMPOTENCY_KEY_REUSED',
    'this Idempotency-Key was used for a different request; use a new key for a new request',
  );
}

/** What is stored of a request, to know it again. */
export function hashOf({ request }: Pick<RepeatableRequest, 'request'>): Buffer {
  return createHash('sha256').update(canonicalJson(request)).digest();
}

/** JSON with sorted keys: the order in which a client writes fields is no difference. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
