import type { Sql } from '@coxswain/persistence';

/** Tells the relay that rows have come; the payload is empty. */
export const OUTBOX_CHANNEL = 'coxswain_outbox';
/** Tells live streams that a job changed; the payload is the job's id, and `steps` behind it where only steps have come. */
export const JOB_CHANNEL = 'coxswain_job';

/** Asks, in the transaction that changes the row, that the cluster be brought in line with it. */
export async function enqueueApply(sql: Sql, jobId: string): Promise<void> {
  await sql.query('INSERT INTO outbox (job_id) VALUES ($1)', [jobId]);
  await sql.query('SELECT pg_notify($1, $2)', [OUTBOX_CHANNEL, '']);
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
