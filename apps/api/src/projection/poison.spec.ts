import { Job, JOB_DETAILS, type TrainingJob, TrainingJobSpec, TrainingJobStatus } from '@coxswain/api-types';
import { aJobSpec, anAttempt, aTrainingJob } from '@coxswain/api-types/testing';
import { poisoned, reportCause } from '@coxswain/api-types/testing/poison';
import { aLayout } from '@coxswain/layout/testing';
import { aCheckpoint, aPlacement } from '@coxswain/lifecycle/testing';
import fc from 'fast-check';
import { findJob, toJobSummaries } from '../jobs/job-of-row.ts';
import { aJobRow } from '../jobs/testing/a-job-row.ts';
import { newsOfJob } from '../messages/job-news.ts';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { resourceColumnsOf } from './job-projection.ts';
import { isReadableSpec, readableJob } from './readable-objects.ts';

const CLUSTER = { id: '3f1c2b9e-0000-4000-8000-00000000000c', name: 'east' };
const RUNS = { numRuns: 60, seed: 34, reporter: reportCause } as const;

const SPEC = JSON.parse(JSON.stringify(TrainingJobSpec.parse(aJobSpec()))) as object;
const LAYOUT = aLayout({ dataParallelDegree: 2 });
const STATUS = JSON.parse(
  JSON.stringify(
    TrainingJobStatus.parse({ state: 'Running', summary: 'It trains.', epoch: 1, attempts: [anAttempt()] }),
  ),
) as object;

/** Issues of an answer that would fail a reader of it: a value of another type. */
const typeIssues = (answer: unknown): readonly string[] =>
  (Job.safeParse(answer).error?.issues ?? [])
    .filter(({ code }) => ['invalid_type', 'invalid_value', 'invalid_union'].includes(code))
    .map(({ path, code }) => `${code} at ${path.join('.')}`);

/** What users get of a job after it was projected; undefined if it has no row. */
async function answersOf(job: TrainingJob, specOfRow?: TrainingJobSpec): Promise<unknown> {
  const readable = readableJob(job, specOfRow);
  if (readable === undefined) return undefined;
  const { uid, spec, status, state, summary } = resourceColumnsOf(readable, aJobRow({ spec: specOfRow ?? aJobSpec() }));
  const { state: reported = 'Queued', conditions = [] }: Partial<TrainingJobStatus> = readable.status ?? {};
  newsOfJob({ state: 'Queued', conditions: [] }, { state: reported, conditions, summary });
  const row = { ...aJobRow({ uid, spec, status, state, summary }), step_time: null };
  const attempts = readable.status?.attempts ?? [];
  const sql = scriptedSql([
    [/sized/, [{ ...row, attempts }]],
    [/FROM jobs j/, [{ ...row, attempts }]],
  ]);
  await toJobSummaries(sql, CLUSTER, [row], { details: [], maxBytes: 1_000_000 });
  await toJobSummaries(sql, CLUSTER, [row], { details: JOB_DETAILS, maxBytes: 1_000_000 });
  return findJob(sql, CLUSTER, { jobId: row.id });
}

describe('a resource that holds something else in any place', () => {
  it.each<[string, (poison: unknown) => TrainingJob, object]>([
    ['its spec', (spec) => ({ ...aTrainingJob(), spec }) as TrainingJob, SPEC],
    ['its status', (status) => ({ ...aTrainingJob(), status }) as TrainingJob, STATUS],
  ])('hurts no reader of jobs: %s', async (_sentence, jobWith, value) => {
    await fc.assert(
      fc.asyncProperty(poisoned(value), async (poison) => {
        const answer = await answersOf(jobWith(poison));
        if (answer !== undefined) expect(typeIssues(answer)).toEqual([]);
        expect(typeIssues(await answersOf(jobWith(poison), aJobSpec()))).toEqual([]);
      }),
      RUNS,
    );
  });

  it.each<[string, unknown, boolean]>([
    ['as this release writes it', SPEC, true],
    ['with a field of a newer release', { ...SPEC, isNewer: true }, true],
    [
      'that breaks a rule, which the operator reports',
      { ...SPEC, layout: { ...LAYOUT, tensorParallelDegree: 3 } },
      true,
    ],
    ['whose layout lacks degrees', { ...SPEC, layout: { of: 'another release' } }, false],
    ['without an engine', { ...SPEC, engine: undefined }, false],
    ['that is a number', 7, false],
    ['that is absent', undefined, false],
  ])('is projected if its types can be read: a spec %s', (_sentence, spec, want) => {
    expect(isReadableSpec('jobs', spec)).toBe(want);
  });

  it('and is a Checkpoint or a Placement, has no row', () => {
    const job = aTrainingJob();
    const { spec } = aCheckpoint(job);
    const ofCheckpoints = [spec, { ...spec, step: 'seven' }, null, {}].map((one) => isReadableSpec('checkpoints', one));
    expect(ofCheckpoints).toEqual([true, false, false, false]);
    const ofPlacements = [aPlacement(job).spec, null, 7, {}].map((one) => isReadableSpec('placements', one));
    expect(ofPlacements).toEqual([true, false, false, false]);
  });
});
