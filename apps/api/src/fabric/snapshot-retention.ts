import type { Database } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { HOUR_MS } from '@coxswain/units';
import { sweepRegularly } from '../infrastructure/regular-sweeps.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { lockSnapshots } from './snapshot-store.ts';

/** Of a fabric that never rests, those of a hundred days. */
const MOST_SNAPSHOTS = 5_000;
const AT_ONCE = 1_000;

/** Whose snapshots are removed, and after how many days. */
export interface SnapshotRetentionParts {
  readonly database: Database;
  readonly cluster: Cluster;
  /** 0: for ever. */
  readonly days: number;
  readonly logger: Logger;
}

/** Removes snapshots of the fabric that are kept no longer, at the start and once an hour, until `signal` aborts. */
export function removeOldSnapshots(parts: SnapshotRetentionParts, signal: AbortSignal): Promise<void> {
  const sweep = async (): Promise<boolean> => (await removeSomeSnapshots(parts)) === AT_ONCE;
  const failed = 'old snapshots of the fabric were not removed; trying later';
  return sweepRegularly({ everyMs: HOUR_MS, sweep, logger: parts.logger, failed }, signal);
}

/** Those that are too old or too many, with what no other one names, and gives how many there were. The newest always stays: it tells what is there now. */
export async function removeSomeSnapshots(
  { database, cluster, days }: Omit<SnapshotRetentionParts, 'logger'>,
  most = MOST_SNAPSHOTS,
): Promise<number> {
  return database.transaction(async (sql) => {
    await lockSnapshots(sql, cluster);
    const { affected } = await sql.query(
      `DELETE FROM fabric_snapshots WHERE id IN (
         SELECT id FROM (SELECT id, taken_at, row_number() OVER (ORDER BY taken_at DESC, id DESC) AS place,
                                lag(taken_at) OVER (ORDER BY taken_at DESC, id DESC) AS replaced_at
                           FROM fabric_snapshots WHERE cluster_id = $1) AS kept
          WHERE place > $2 OR ($3 > 0 AND replaced_at < now() - make_interval(days => $3))
          ORDER BY taken_at LIMIT ${AT_ONCE})`,
      [cluster.id, most, days],
    );
    if (affected > 0)
      await sql.query(
        `DELETE FROM fabric_chunks WHERE cluster_id = $1
            AND sha256 NOT IN (SELECT unnest(chunks) FROM fabric_snapshots WHERE cluster_id = $1)`,
        [cluster.id],
      );
    return affected;
  });
}
