import { aJobSpec, anAttempt, aPlannedJobSpec } from '@coxswain/api-types/testing';
import { type Attempt, type Job, JOB_DETAILS, type JobDetail } from '@coxswain/api-types';
import { aLayout } from '@coxswain/layout/testing';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { desiredSpec, type JobRow, toJobSummaries, toJobWithAttempts } from './job-row.ts';
import { aJobRow } from './testing/a-job-row.ts';

const wide = aLayout({ dataParallelDegree: 4 });
const { layout } = aJobSpec();

describe('the spec that a row asks for', () => {
  it.each<[string, Partial<JobRow>, object]>([
    ['is the resource’s when nothing was asked', {}, { layout, suspend: false, cancel: false }],
    ['is suspended when that was asked', { desired_suspend: true }, { suspend: true }],
    [
      'runs again when that was asked',
      { spec: aJobSpec({ suspend: true }), desired_suspend: false },
      { suspend: false },
    ],
    ['has the layout that was asked for', { desired_layout: wide }, { layout: wide }],
    [
      'stays cancelled, whatever was asked since',
      { spec: aJobSpec({ cancel: true }), desired_suspend: false },
      { cancel: true },
    ],
    ['is cancelled when that was asked', { desired_cancel: true }, { cancel: true }],
    ['keeps its number of GPUs', { spec: aPlannedJobSpec({ gpus: 8 }) }, { gpus: 8 }],
  ])('%s', (_sentence, columns, want) => {
    expect(desiredSpec(aJobRow(columns))).toMatchObject(want);
  });

  it.each<[string, Partial<JobRow>, 'layout' | 'gpus']>([
    ['a number of GPUs takes the place of a layout', { desired_gpus: 8 }, 'layout'],
    [
      'a layout takes the place of a number of GPUs',
      { spec: aPlannedJobSpec({ gpus: 8 }), desired_layout: wide },
      'gpus',
    ],
  ])('%s', (_sentence, columns, absent) => {
    expect(desiredSpec(aJobRow(columns))).not.toHaveProperty(absent);
  });
});

const cluster = { id: '3f1c2b9e-0000-4000-8000-00000000000c', name: 'east' };
const UID = '3f1c2b9e-0000-4000-8000-000000000001';

/** The job of a row, of which the tables of attempts and of measured step times say this. */
async function jobOf(
  columns: Partial<JobRow>,
  tables: { readonly attempts?: readonly Attempt[]; readonly measured?: object } = {},
): Promise<Job> {
  const sql = scriptedSql([
    [/FROM attempts/, (tables.attempts ?? []).map((attempt) => ({ job_uid: UID, attempt }))],
    [/FROM measured_step_times/, tables.measured === undefined ? [] : [{ job_uid: UID, ...tables.measured }]],
  ]);
  return toJobWithAttempts(sql, cluster, aJobRow(columns));
}

describe('the job that users see of a row', () => {
  it('is complete before it has a resource, and asks no other table', async () => {
    const sql = scriptedSql([]);
    const job = await toJobWithAttempts(sql, cluster, aJobRow());
    expect(job).toMatchObject({
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
    expect(sql.statements).toEqual([]);
  });

  it('shows what was asked of it before the cluster has it', async () => {
    expect((await jobOf({ desired_suspend: true, desired_layout: wide })).spec).toMatchObject({
      suspend: true,
      layout: wide,
    });
  });

  it('says null for what the operator does not know of its progress', async () => {
    const { progress } = await jobOf({ status: { progress: { step: 3, reportedAt: '2026-01-01T00:00:05Z' } } });
    expect(progress).toEqual({
      step: 3,
      totalSteps: null,
      loss: null,
      tokensPerSecond: null,
      etaSeconds: null,
      reportedAt: '2026-01-01T00:00:05Z',
    });
  });

  const prediction = { stepMs: 110, peakBytes: 1, gpuType: 'h100', microBatchSize: 1, plannerVersion: '1' };
  const predicted = anAttempt({ epoch: 2, prediction });
  it.each<[string, Parameters<typeof jobOf>[1], object | null]>([
    ['is unknown before anything was predicted or measured', { attempts: [anAttempt({ epoch: 1 })] }, null],
    [
      'is predicted before it was measured',
      { attempts: [predicted] },
      { epoch: 2, predictedMs: 110, measuredMs: null, measuredSteps: 0, errorPct: null },
    ],
    [
      'is measured where nothing was predicted',
      { attempts: [anAttempt({ epoch: 1 })], measured: { epoch: 1, median_step_ms: 100, steps: 7 } },
      { epoch: 1, predictedMs: null, measuredMs: 100, measuredSteps: 7, errorPct: null },
    ],
    [
      'has an error where it was both, of the same attempt',
      { attempts: [predicted], measured: { epoch: 2, median_step_ms: 100, steps: 7 } },
      { epoch: 2, predictedMs: 110, measuredMs: 100, measuredSteps: 7, errorPct: 10 },
    ],
    [
      'compares no prediction with another attempt’s measurement',
      { attempts: [predicted, anAttempt({ epoch: 3 })], measured: { epoch: 3, median_step_ms: 100, steps: 7 } },
      { epoch: 3, predictedMs: null, measuredMs: 100, measuredSteps: 7, errorPct: null },
    ],
  ])('its step time %s', async (_sentence, tables, want) => {
    expect((await jobOf({ uid: UID }, tables)).stepTime).toEqual(want);
  });
});

describe('the list that users see of rows', () => {
  const rows = ['a', 'b', 'c'].map((uid) => aJobRow({ id: uid, uid }));
  const attempts = [1, 2].map((epoch) => ({ job_uid: 'b', attempt: anAttempt({ epoch }) }));
  const listed = (
    details: readonly JobDetail[],
    whole: readonly JobRow[] = rows,
  ): ReturnType<typeof toJobSummaries> => {
    const sql = scriptedSql([
      [/WITH ORDINALITY AS w/, whole],
      [/DISTINCT ON \(a\.job_uid\)/, [{ job_uid: 'b', attempt: { epoch: 2, prediction: { stepMs: 110 } } }]],
      [/FROM attempts/, attempts],
    ]);
    return toJobSummaries(sql, cluster, rows, { details, maxBytes: 1 });
  };

  it('is in their order and leaves out what can be large', async () => {
    const jobs = await listed([]);
    expect(jobs.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    for (const job of jobs) for (const detail of JOB_DETAILS) expect(job).not.toHaveProperty(detail);
    expect(jobs[0]).toMatchObject({ gpus: 4, totalSteps: aJobSpec().training?.steps, layout });
  });

  it('says what was predicted of each', async () => {
    expect((await listed([])).map(({ stepTime }) => stepTime?.predictedMs ?? null)).toEqual([null, 110, null]);
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
