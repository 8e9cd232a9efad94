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

/** What is kept of a thing that was made, however large it is. */
export interface Made {
  readonly id: string;
}

/** How a thing is made that can be large, and found again. */
export interface Making<T extends Made> {
  readonly make: () => Promise<T>;
  /** What was made under that id, as it is now. Undefined: it is there no more, and is made anew; throws where that must not be. */
  readonly find: (id: string) => Promise<T | undefined>;
}

/** How an answer is found, kept and found again. */
interface Answering<T, Kept> {
  readonly work: () => Promise<T>;
  readonly remember: (answer: T) => Kept;
  readonly recall: (kept: Kept) => Promise<T | undefined> | T | undefined;
}

/**
 * Runs `work` once per principal and key in the cluster of the caller's transaction, within it: what is kept of the answer is stored with what it did, or neither is. A
 * repetition gets the answer again; IDEMPOTENCY_KEY_REUSED for another request under the key; CONFLICT while the first is still under way.
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
  const kept = await keptUnder<Kept>(sql, repeatable);
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

/** A request that has a key where its sender gave it one. */
export type PerhapsRepeatable = Omit<RepeatableRequest, 'key'> & { readonly key: string | undefined };

/** Does `work` once where there is a key, whose answer is kept as it is: it must be small. */
export function onceUnder<T>(sql: Sql, { key, ...repeatable }: PerhapsRepeatable, work: () => Promise<T>): Promise<T> {
  if (key === undefined) return work();
  const remember = (answer: T): T => answer;
  return withIdempotencyKey(sql, { ...repeatable, key }, { work, remember, recall: remember });
}

/** Makes a thing once where there is a key. Its id alone is kept, and a repetition is answered with the thing as it is now. */
export function madeOnceUnder<T extends Made>(
  sql: Sql,
  { key, ...repeatable }: PerhapsRepeatable,
  { make, find }: Making<T>,
): Promise<T> {
  if (key === undefined) return make();
  // A release before kept the whole answer, which has the id too.
  const remember = ({ id }: Made): Made => ({ id });
  return withIdempotencyKey(sql, { ...repeatable, key }, { work: make, remember, recall: ({ id }) => find(id) });
}

/** What is kept under the key, if anything; IDEMPOTENCY_KEY_REUSED when it answers another request. */
export async function keptUnder<Kept>(sql: Sql, repeatable: RepeatableRequest): Promise<Kept | undefined> {
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
