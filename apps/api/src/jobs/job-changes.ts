import type { Sql } from '@coxswain/persistence';

/** Tells the relay that rows have come; the payload is empty. */
export const OUTBOX_CHANNEL = 'coxswain_outbox';
/** Tells live streams that a job changed; the payload is the job's id. */
export const JOB_CHANNEL = 'coxswain_job';

/** Asks, in the transaction that changes the row, that the cluster be brought in line with it. */
export async function enqueueApply(sql: Sql, jobId: string): Promise<void> {
  await sql.query('INSERT INTO outbox (job_id) VALUES ($1)', [jobId]);
  await sql.query('SELECT pg_notify($1, $2)', [OUTBOX_CHANNEL, '']);
}

/** Wakes whoever shows the job; heard when the transaction commits. */
export async function notifyJobChanged(sql: Sql, jobId: string): Promise<void> {
  await sql.query('SELECT pg_notify($1, $2)', [JOB_CHANNEL, jobId]);
}
