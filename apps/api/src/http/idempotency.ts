import { createHash } from 'node:crypto';
import { DomainError } from '@coxswain/domain-error';
import { firstOf, type Sql } from '@coxswain/persistence';
import type { Principal } from '../auth/principal.ts';

/** Keys expire after a day. */
export const IDEMPOTENCY_LIFETIME = '24 hours';

/** A request that may arrive more than once. */
export interface RepeatableRequest {
  readonly principal: Principal;
  readonly key: string;
  /** Everything that makes two requests the same. */
  readonly request: unknown;
}

/** What is stored of a created object, whatever its size. */
export interface Created {
  readonly id: string;
}

/** How an object is created, and read again for a repeated request. */
export interface Creation<T extends Created> {
  readonly make: () => Promise<T>;
  /** Reads the object of that id as it is now. Undefined if it is gone, so that it is created again; throws if it must not be. */
  readonly find: (id: string) => Promise<T | undefined>;
}

/** How an answer is made, stored, and read again. */
interface Answering<T, Kept> {
  readonly work: () => Promise<T>;
  readonly remember: (answer: T) => Kept;
  readonly recall: (kept: Kept) => Promise<T | undefined> | T | undefined;
}

/**
 * Runs `work` once per principal and key of the cluster, within the caller's transaction: its effect and its stored answer are committed together.
 * A repeated request gets the stored answer. IDEMPOTENCY_KEY_REUSED if another request used the key; CONFLICT while the first one still runs.
 */
async function withIdempotencyKey<T, Kept>(
  sql: Sql,
  repeatable: RepeatableRequest,
  { work, remember, recall }: Answering<T, Kept>,
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
  const kept = await storedAnswerOf<Kept>(sql, repeatable);
  const before = kept === undefined ? undefined : await recall(kept);
  if (before !== undefined) return before;
  const response = await work();
  await sql.query(
    `INSERT INTO idempotency_keys (cluster_id, principal, key, request_sha256, response) VALUES (scope_cluster(), $1, $2, $3, $4)
     ON CONFLICT (cluster_id, principal, key) DO UPDATE
       SET request_sha256 = excluded.request_sha256, response = excluded.response, created_at = now()`,
    [principal.id, key, hashOf(repeatable), JSON.stringify(remember(response))],
  );
  return response;
}

/** A request with an Idempotency-Key, if the client sent one. */
export type OptionallyRepeatable = Omit<RepeatableRequest, 'key'> & { readonly key: string | undefined };

/** Runs `work` once per key, or always without a key. The whole answer is stored, so it must be small. */
export function runIdempotently<T>(
  sql: Sql,
  { key, ...repeatable }: OptionallyRepeatable,
  work: () => Promise<T>,
): Promise<T> {
  if (key === undefined) return work();
  const remember = (answer: T): T => answer;
  return withIdempotencyKey(sql, { ...repeatable, key }, { work, remember, recall: remember });
}

/** Creates an object once per key, or always without a key. Only its id is stored; a repeated request gets the object as it is now. */
export function createIdempotently<T extends Created>(
  sql: Sql,
  { key, ...repeatable }: OptionallyRepeatable,
  { make, find }: Creation<T>,
): Promise<T> {
  if (key === undefined) return make();
  // A release before kept the whole answer, which has the id too.
  const remember = ({ id }: Created): Created => ({ id });
  return withIdempotencyKey(sql, { ...repeatable, key }, { work: make, remember, recall: ({ id }) => find(id) });
}

/** The stored answer of the key, if there is one; IDEMPOTENCY_KEY_REUSED if it belongs to another request. */
export async function storedAnswerOf<Kept>(sql: Sql, repeatable: RepeatableRequest): Promise<Kept | undefined> {
  const stored = firstOf(
    await sql.query<{ request_sha256: Buffer; response: Kept }>(
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

/** A hash of the request, to compare it with a repeated one. */
export function hashOf({ request }: Pick<RepeatableRequest, 'request'>): Buffer {
  return createHash('sha256').update(canonicalJson(request)).digest();
}

/** JSON with sorted keys, so that the order of fields makes no difference. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
