import type { Sql } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { HOUR_MS } from '@coxswain/units';
import { sweepRegularly } from '../infrastructure/regular-sweeps.ts';
import type { Cluster } from '../infrastructure/tokens.ts';

/** So many at once, that nobody waits long behind it. */
export const RETENTION_BATCH = 5_000;

/** Removes entries that are older than the installation keeps them, at the start and once an hour, until `signal` aborts. */
export function removeOldAudit(
  parts: { readonly database: Sql; readonly cluster: Cluster; readonly retentionDays: number; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  const sweep = async (): Promise<boolean> => (await removeSomeOldAudit(parts.database, parts)) === RETENTION_BATCH;
  const failed = 'old audit entries were not removed; trying later';
  return sweepRegularly({ everyMs: HOUR_MS, sweep, logger: parts.logger, failed }, signal);
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
