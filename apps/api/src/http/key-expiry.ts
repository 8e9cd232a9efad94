import type { Database, Sql } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { HOUR_MS } from '@coxswain/units';
import { removeEndedSessions } from '../auth/sessions.ts';
import { sweepRegularly } from '../infrastructure/regular-sweeps.ts';
import { IDEMPOTENCY_LIFETIME } from './idempotency.ts';

/** So many at once, that a table which nobody tidied for long is not locked for long. */
const BATCH = 10_000;

/** Removes Idempotency-Keys that count no more and sessions that ended, at the start and once an hour, until `signal` aborts. */
export function removeExpired(
  parts: { readonly database: Database; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  const { database, logger } = parts;
  const sweep = async (): Promise<boolean> => {
    const keys = await removeSomeExpiredKeys(database);
    const sessions = await removeEndedSessions(database, BATCH);
    return keys === BATCH || sessions === BATCH;
  };
  const failed = 'what has expired was not removed; trying later';
  return sweepRegularly({ everyMs: HOUR_MS, sweep, logger, failed }, signal);
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
