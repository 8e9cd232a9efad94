import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Sql } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { removeEndedSessions } from '../auth/sessions.ts';
import { IDEMPOTENCY_LIFETIME } from './idempotency.ts';

const EVERY_MS = 3_600_000;
/** So many at once, that a table which nobody tidied for long is not locked for long. */
const BATCH = 10_000;

/** Removes Idempotency-Keys that count no more and sessions that ended, at the start and once an hour, until `signal` aborts. */
export async function removeExpired(
  parts: { readonly database: Database; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      while ((await removeSomeExpiredKeys(parts.database)) === BATCH) if (signal.aborted) return;
      while ((await removeEndedSessions(parts.database, BATCH)) === BATCH) if (signal.aborted) return;
    } catch (error) {
      parts.logger.warn({ reason: (error as Error).message }, 'what has expired was not removed; trying later');
    }
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Removes at most {@link BATCH} of them and gives how many there were. */
export async function removeSomeExpiredKeys(sql: Sql): Promise<number> {
  const { affected } = await sql.query(
    `DELETE FROM idempotency_keys WHERE ctid IN (
       SELECT ctid FROM idempotency_keys WHERE created_at <= now() - interval '${IDEMPOTENCY_LIFETIME}' LIMIT $1)`,
    [BATCH],
  );
  return affected;
}
