import type { Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { IS_GONE } from '../infrastructure/gone-jobs.ts';

/** What is kept of jobs that are gone. */
export interface RecordBounds {
  /** Of each project, the newest; 0: as many as there are. */
  readonly ofProject: number;
  /** After the job was gone; 0: for ever. */
  readonly days: number;
}

/** A record that is kept no longer. */
export interface OldRecord {
  readonly id: string;
  /** Null: there was never a resource. */
  readonly uid: string | null;
}

/** Records that are removed together. */
export const RECORDS_AT_ONCE = 100;
/** So young ones stay in any case: a replica that still sees the job would record it anew, and steps may be on their way. */
const LEAST_AGE_S = 60;

/** When the job was gone: `jobs_gone` is the index. */
const GONE_AT = 'coalesce(deleted_at, finished_at)';

/**
 * At most {@link RECORDS_AT_ONCE} records of one project (null: of no project), oldest first, that exceed its limits in number or age. A record
 * stays if its job has checkpoints or placements in the cluster, because it names their owner, or if the outbox refers to it.
 */
export async function findOldRecords(
  sql: Sql,
  of: { readonly cluster: Cluster; readonly project: string | null; readonly bounds: RecordBounds },
): Promise<readonly OldRecord[]> {
  const { cluster, project, bounds } = of;
  const recorded = `cluster_id = $1 AND ${project === null ? 'project_id IS NULL AND $2::uuid IS NULL' : 'project_id = $2'} AND ${IS_GONE}`;
  const found = await sql.query<OldRecord>(
    `SELECT id, uid
       FROM (SELECT greatest(now() - make_interval(days => nullif($3::integer, 0)),
                             (SELECT ${GONE_AT} FROM jobs WHERE ${recorded} AND $4::integer > 0
                               ORDER BY ${GONE_AT} DESC, id DESC OFFSET $4 LIMIT 1)) AS at) AS bound
       JOIN jobs ON ${recorded} AND ${GONE_AT} <= bound.at AND ${GONE_AT} < now() - make_interval(secs => $5)
      WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE job_id = jobs.id)
        AND NOT EXISTS (SELECT 1 FROM checkpoints c
                         WHERE c.cluster_id = $1 AND c.job_uid = jobs.uid AND c.namespace = jobs.namespace AND c.deleted_at IS NULL)
        AND NOT EXISTS (SELECT 1 FROM placements p
                         WHERE p.cluster_id = $1 AND p.job_uid = jobs.uid AND p.namespace = jobs.namespace AND p.deleted_at IS NULL)
      ORDER BY ${GONE_AT}, id LIMIT $6`,
    [cluster.id, project, bounds.days, bounds.ofProject, LEAST_AGE_S, RECORDS_AT_ONCE],
  );
  return found.rows;
}
