import { setTimeout as delay } from 'node:timers/promises';
import type { Sql } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import type { Cluster } from '../infrastructure/tokens.ts';

const EVERY_MS = 3_600_000;
/** So many at once, that nobody waits long behind it. */
export const RETENTION_BATCH = 5_000;

/** Removes entries that are older than the installation keeps them, at the start and once an hour, until `signal` aborts. */
export async function removeOldAudit(
  parts: { readonly database: Sql; readonly cluster: Cluster; readonly retentionDays: number; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      while ((await removeSomeOldAudit(parts.database, parts)) === RETENTION_BATCH) if (signal.aborted) return;
    } catch (error) {
      parts.logger.warn({ reason: (error as Error).message }, 'old audit entries were not removed; trying later');
    }
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Removes at most {@link RETENTION_BATCH} of this cluster and of none, and gives how many there were. */
export async function removeSomeOldAudit(
  sql: Sql,
  { cluster, retentionDays }: { readonly cluster: Cluster; readonly retentionDays: number },
): Promise<number> {
  const { affected } = await sql.query(
    `DELETE FROM audit WHERE id IN (
       SELECT id FROM audit WHERE (cluster_id = $1 OR cluster_id IS NULL) AND at < now() - make_interval(days => $2) LIMIT $3)`,
    [cluster.id, retentionDays, RETENTION_BATCH],
  );
  return affected;
}
