import type { Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';

/** Rows that one statement deletes: a few hundred milliseconds. */
export const ROWS_AT_ONCE = 10_000;

/** Where the rows of one job lie. */
export interface SeriesOfJob {
  readonly table: 'steps' | 'step_levels';
  readonly month: string;
  readonly uid: string;
}

/** Deletes at most {@link ROWS_AT_ONCE} of them. False: none is left. */
export async function deleteSomeRows(sql: Sql, cluster: Cluster, { table, month, uid }: SeriesOfJob): Promise<boolean> {
  const { affected } = await sql.query(
    `DELETE FROM ${table} WHERE cluster_id = $1 AND month = $2::date AND job_uid = $3 AND ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} WHERE cluster_id = $1 AND month = $2::date AND job_uid = $3 LIMIT $4))`,
    [cluster.id, month, uid, ROWS_AT_ONCE],
  );
  return affected === ROWS_AT_ONCE;
}
