import { aJobSpec, anAttempt } from '@coxswain/api-types/testing';
import { type Job, JOB_DETAILS, type JobDetail } from '@coxswain/api-types';
import { aLayout } from '@coxswain/layout/testing';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { findJob, toJobSummaries } from './job-of-row.ts';
import type { JobRow } from './job-row.ts';
import { aJobRow } from './testing/a-job-row.ts';

const wide = aLayout({ dataParallelDegree: 4 });
const { layout } = aJobSpec();
const cluster = { id: '3f1c2b9e-0000-4000-8000-00000000000c', name: 'east' };
const UNTIMED = { step_time: null, attempts: [] };

/** The job of a row, with what the other tables say beside it. */
async function jobOf(columns: Partial<JobRow>, beside: object = {}): Promise<Job | undefined> {
  const sql = scriptedSql([[/FROM jobs j/, [{ ...aJobRow(columns), ...UNTIMED, ...beside }]]]);
  return findJob(sql, cluster, { jobId: aJobRow().id });
}

describe('the job that users see of a row', () => {
  it('is complete before it has a resource', async () => {
    expect(await jobOf({})).toMatchObject({
      project: 'research',
      cluster: 'east',
      uid: null,
      state: 'Submitting',
      epoch: 0,
      restarts: { total: 0, charged: 0 },
      progress: null,
      checkpoint: null,
      attempts: [],
      stepTime: null,
      version: 1,
      specVersion: 1,
      createdAt: '2026-01-01T00:00:00.000Z',
      finishedAt: null,
    });
  });

  it('is read by one statement', async () => {
    const sql = scriptedSql([[/FROM jobs j/, [{ ...aJobRow(), ...UNTIMED }]]]);
    await findJob(sql, cluster, { jobId: aJobRow().id });
    expect(sql.statements).toHaveLength(1);
  });

  it('shows what was asked of it before the cluster has it', async () => {
    const job = await jobOf({ desired_suspend: true, desired_layout: wide });
    expect(job?.spec).toMatchObject({ suspend: true, layout: wide });
  });

  it('says why its last change has not reached the cluster, since when, and when it is tried again', async () => {
    const [since, retryAt] = ['2026-01-01T00:00:05.000Z', '2026-01-01T00:00:35.000Z'];
    const failing = { apply_error: 'away', apply_failing_since: new Date(since), apply_retry_at: new Date(retryAt) };
    expect((await jobOf(failing))?.applyFailure).toEqual({ message: 'away', since, retryAt });
    expect((await jobOf({ ...failing, apply_retry_at: null }))?.applyFailure?.retryAt).toBeNull();
    expect((await jobOf({}))?.applyFailure).toBeNull();
  });

  it('says null for what the operator does not know of its progress', async () => {
    const job = await jobOf({ status: { progress: { step: 3, reportedAt: '2026-01-01T00:00:05Z' } } });
    expect(job?.progress).toEqual({
      step: 3,
      totalSteps: null,
      loss: null,
      tokensPerSecond: null,
      etaSeconds: null,
      reportedAt: '2026-01-01T00:00:05Z',
    });
  });

  it.each<[string, object, number | null]>([
    ['has an error where it was predicted and measured', { predictedMs: 110, measuredMs: 100, measuredSteps: 7 }, 10],
    ['has none before it was measured', { predictedMs: 110, measuredMs: null, measuredSteps: 0 }, null],
    ['has none where nothing was predicted', { predictedMs: null, measuredMs: 100, measuredSteps: 7 }, null],
  ])('its step time %s', async (_sentence, time, errorPct) => {
    const job = await jobOf({}, { step_time: { epoch: 2, ...time } });
    expect(job?.stepTime).toEqual({ epoch: 2, ...time, errorPct });
  });
});

describe('the list that users see of rows', () => {
  const time = { epoch: 2, predictedMs: 110, measuredMs: null, measuredSteps: 0 };
  const rows = ['a', 'b', 'c'].map((uid) => ({ ...aJobRow({ id: uid, uid }), step_time: uid === 'b' ? time : null }));
  const wholeRow = (row: JobRow): object => ({
    ...row,
    ...(row.uid === 'b' ? { step_time: time, attempts: [1, 2].map((epoch) => anAttempt({ epoch })) } : UNTIMED),
  });
  const listed = (
    details: readonly JobDetail[],
    whole: readonly JobRow[] = rows,
  ): ReturnType<typeof toJobSummaries> => {
    const sql = scriptedSql([[/WITH ORDINALITY AS w/, whole.map(wholeRow)]]);
    return toJobSummaries(sql, cluster, rows, { details, maxBytes: 1 });
  };

  it('is in their order and leaves out what can be large', async () => {
    const jobs = await listed([]);
    expect(jobs.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    for (const job of jobs) for (const detail of JOB_DETAILS) expect(job).not.toHaveProperty(detail);
    expect(jobs[0]).toMatchObject({ gpus: 4, totalSteps: aJobSpec().training?.steps, layout });
  });

  it.each<[string, readonly JobDetail[]]>([
    ['in short', []],
    ['with details', ['spec']],
  ])('says what was predicted of each, %s', async (_how, details) => {
    expect((await listed(details)).map(({ stepTime }) => stepTime?.predictedMs ?? null)).toEqual([null, 110, null]);
  });

  it('in short needs no other statement', async () => {
    const sql = scriptedSql([]);
    await toJobSummaries(sql, cluster, rows, { details: [], maxBytes: 1 });
    expect(sql.statements).toEqual([]);
  });

  it('holds the details that are asked for, each job its own, and no others', async () => {
    const jobs = await listed(['attempts']);
    expect(jobs.map((job) => job.attempts?.map(({ epoch }) => epoch))).toEqual([[], [1, 2], []]);
    expect(jobs[0]).not.toHaveProperty('spec');
  });

  it('ends with the last row whose details were read', async () => {
    expect((await listed(['spec'], rows.slice(0, 2))).map(({ id }) => id)).toEqual(['a', 'b']);
  });
});
