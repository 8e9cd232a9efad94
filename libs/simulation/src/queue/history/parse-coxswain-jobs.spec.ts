import { aJob, anAttempt, aTrainingJob } from '@coxswain/api-types/testing';
import { HistoryError } from './history-job.ts';
import { parseCoxswainJobs } from './parse-coxswain-jobs.ts';

const parse = (document: unknown) => parseCoxswainJobs(document, { file: 'jobs.json', gpusPerNode: 8 });
const attempt = anAttempt({ startedAt: '2026-01-01T01:00:00Z', endedAt: '2026-01-01T03:00:00Z', stage: 'Ended' });
const apiJob = { ...aJob(), createdAt: '2026-01-01T00:00:00Z', gpus: 16, attempts: [attempt] };
const status = { epoch: 1, restarts: { total: 0, charged: 0 }, askedAt: '2026-01-01T00:30:00Z', attempts: [attempt] };
const resource = aTrainingJob({ status });

describe('jobs of Coxswain', () => {
  it.each<[string, unknown, object]>([
    [
      'of the API hold GPUs from their first start to their last end',
      apiJob,
      { submitMs: Date.UTC(2026, 0, 1), pods: 2, gpusPerPod: 8 },
    ],
    [
      'of Kubernetes wait since they asked',
      resource,
      { submitMs: Date.UTC(2026, 0, 1, 0, 30), pods: 1, gpusPerPod: 4 },
    ],
    ['of a list are read alike', { items: [resource] }, { pods: 1 }],
    ['of an array are read alike', [apiJob], { pods: 2 }],
  ])('%s', (_sentence, document, want) => {
    const times = { startMs: Date.UTC(2026, 0, 1, 1), endMs: Date.UTC(2026, 0, 1, 3) };
    expect(parse(document).jobs).toMatchObject([{ ...times, ...want }]);
  });

  it('are expected to end by steps and step time where both are known', () => {
    const plan = { predictedStepMs: 1_000, predictedStepHighMs: 1_500 };
    const [job] = parse({ ...apiJob, plan, totalSteps: 60 }).jobs;
    expect(job?.predicted).toEqual({ runMs: 60_000, latestMs: 90_000 });
  });

  it('that never started are left out', () => {
    expect(parse({ ...apiJob, attempts: [] })).toEqual({
      jobs: [],
      leftOut: [{ count: 1, why: 'that never started' }],
    });
  });

  it.each<[string, unknown, string]>([
    ['a list without attempts', [apiJob, { ...apiJob, attempts: undefined }], 'job 2, field attempts'],
    ['a time that is none', [{ ...apiJob, createdAt: 'soon' }], 'job 1, field createdAt: is not a time'],
    ['something else', 'hello', 'job 1'],
  ])('%s is rejected at its place', (_what, document, message) => {
    expect(() => parse(document)).toThrow(HistoryError);
    expect(() => parse(document)).toThrow(message);
  });
});
