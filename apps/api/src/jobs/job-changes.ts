import type { Sql } from '@coxswain/persistence';

/** Tells workers whose turn has something to do; the payload is `CLUSTER TURN`. An older API sends an empty one. */
export const OUTBOX_CHANNEL = 'coxswain_outbox';
/** Tells live streams that a job changed; the payload is the job's id, and `steps` behind it where only steps have come. */
export const JOB_CHANNEL = 'coxswain_job';

/** In which order the entries of one project are served: what frees GPUs, what runs, and what only describes. */
const URGENCIES = { stop: 0, run: 1, describe: 2 } as const;
export type ApplyUrgency = keyof typeof URGENCIES;

/**
 * Asks, in the transaction that changes the row, that the cluster be brought in line with it. A job has at most one entry: a change of a job whose entry waits
 * is counted on that entry, and one of a job that is being applied makes it be applied once more.
 */
export async function enqueueApply(sql: Sql, jobId: string, urgency: ApplyUrgency): Promise<void> {
  await sql.query(
    `WITH entry AS (
       INSERT INTO outbox (job_id, is_entry, entry_cluster_id, turn_id, urgency)
       SELECT id, true, cluster_id, coalesce(project_id, cluster_id), $2::smallint FROM jobs WHERE id = $1
       ON CONFLICT (job_id) WHERE is_entry DO UPDATE
         SET changes = outbox.changes + 1, urgency = least(outbox.urgency, excluded.urgency), due_at = least(outbox.due_at, now())
       RETURNING entry_cluster_id, turn_id
     )
     SELECT pg_notify($3, entry_cluster_id || ' ' || turn_id) FROM entry`,
    [jobId, URGENCIES[urgency], OUTBOX_CHANNEL],
  );
}

/** The turn that a payload of {@link OUTBOX_CHANNEL} names; undefined if it names none. */
export function turnOf(payload: string): { readonly clusterId: string; readonly turnId: string } | undefined {
  const [clusterId, turnId] = payload.split(' ');
  return clusterId === undefined || turnId === undefined ? undefined : { clusterId, turnId };
}

/** Wakes the streams that show the job, when the transaction commits. */
export async function notifyJobChanged(sql: Sql, jobId: string): Promise<void> {
  await sql.query('SELECT pg_notify($1, $2)', [JOB_CHANNEL, jobId]);
}

/** Wakes the streams that show steps of the jobs with these UIDs, when the transaction commits. */
export async function notifyStepsCame(sql: Sql, clusterId: string, uids: readonly string[]): Promise<void> {
  await sql.query(
    "SELECT pg_notify($3, id::text || ' steps') FROM jobs WHERE cluster_id = $1 AND uid = ANY ($2::text[])",
    [clusterId, uids, JOB_CHANNEL],
  );
}

/** What such a payload says. */
export function jobNewsOf(payload: string): { readonly jobId: string; readonly stepsOnly: boolean } {
  const [jobId = '', what] = payload.split(' ');
  return { jobId, stepsOnly: what === 'steps' };
}
