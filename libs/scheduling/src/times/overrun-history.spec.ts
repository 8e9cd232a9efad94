import type { TrainingJob } from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { KEPT_ENDS, OverrunHistory } from './overrun-history.ts';
import { predictedEnd } from './predicted-end.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const at = (minutes: number): Date => new Date(START + minutes * 60_000);

/** A job of the namespace that states 100 steps and has made `made`; `ended`: in that minute. */
function aJob(
  made: number | undefined,
  facts: { readonly ended?: number; readonly namespace?: string } = {},
): TrainingJob {
  const { ended, namespace = 'x' } = facts;
  const job = aTrainingJob({ spec: { training: { steps: 100, globalBatchSize: 8, learningRate: 0.01 } } });
  const isEnded = ended !== undefined;
  const condition = { type: 'Complete', status: 'True' as const, reason: 'AllRanksSucceeded', message: '' };
  return {
    ...job,
    metadata: { ...job.metadata, namespace },
    status: {
      epoch: 1,
      restarts: { total: 0, charged: 0 },
      attempts: [
        anAttempt({ stage: isEnded ? 'Ended' : 'Released', ...(isEnded ? { endedAt: at(ended).toISOString() } : {}) }),
      ],
      ...(made === undefined ? {} : { progress: { step: made, reportedAt: at(ended ?? 0).toISOString() } }),
      ...(isEnded
        ? { conditions: [{ ...condition, observedGeneration: 1, lastTransitionTime: at(ended).toISOString() }] }
        : {}),
    },
  };
}

/** A history of jobs that ended one after the other and made so many steps of the 100 that they stated. */
function afterEnds(...made: readonly (number | undefined)[]): OverrunHistory {
  const history = new OverrunHistory();
  for (const [index, steps] of made.entries()) history.jobChanged(aJob(steps), aJob(steps, { ended: index }));
  return history;
}

const honest = (count: number): readonly number[] => Array.from({ length: count }, () => 100);

describe('a job of a namespace makes at the latest as many times its stated steps', () => {
  it.each<[string, OverrunHistory, number]>([
    ['as stated if none of its jobs has ended', afterEnds(), 1],
    ['as stated if all jobs made their steps', afterEnds(100, 100), 1],
    ['as stated if all jobs ended early', afterEnds(20, 70), 1],
    ['as the job that ran over, after it has ended', afterEnds(1_000), 10],
    ['as the job that ran over, if fewer than ten have ended since', afterEnds(1_000, ...honest(8)), 10],
    ['as stated once one of ten ran over', afterEnds(1_000, ...honest(9)), 1],
    ['as nine of ten jobs did not exceed', afterEnds(...honest(16), 300, 1_000, 500, 200), 3],
    ['as stated again after as many ends as are kept', afterEnds(1_000, 1_000, 1_000, ...honest(KEPT_ENDS)), 1],
    ['as stated if steps were never reported', afterEnds(undefined), 1],
  ])('%s', (_sentence, history, want) => {
    expect(history.factorOf('x')).toBe(want);
  });
});

it.each<[string, (history: OverrunHistory) => void, number]>([
  ['a job that is deleted while it runs over counts', (history) => history.jobChanged(aJob(400), undefined), 4],
  [
    'a job that is deleted after its end counts once',
    (history) => history.jobChanged(aJob(400, { ended: 1 }), undefined),
    1,
  ],
  ['a job that goes on does not count yet', (history) => history.jobChanged(aJob(300), aJob(400)), 1],
  [
    'a job of another namespace does not count',
    (history) => history.jobChanged(aJob(400, { namespace: 'y' }), undefined),
    1,
  ],
  [
    'a new process reads the jobs that have ended, the newest last',
    (history) =>
      history.read([
        ...honest(KEPT_ENDS).map((made, index) => aJob(made, { ended: index + 2 })),
        aJob(900, { ended: 1 }),
      ]),
    1,
  ],
  ['a new process does not count jobs that run', (history) => history.read([aJob(900)]), 1],
  ['a new process knows a job that ran over', (history) => history.read([aJob(900, { ended: 1 })]), 9],
])('%s', (_sentence, change, want) => {
  const history = new OverrunHistory();
  change(history);
  expect(history.factorOf('x')).toBe(want);
});

it('the latest end of a job counts the steps that it makes at the latest, and its limit still bounds it', () => {
  const job = aTrainingJob({ spec: { training: { steps: 100, globalBatchSize: 8, learningRate: 0.01 } } });
  const plan = { predictedStepMs: 60_000, predictedStepLowMs: 60_000, predictedStepHighMs: 60_000 };
  const waiting = { ...job, status: { epoch: 0, restarts: { total: 0, charged: 0 }, plan } } as TrainingJob;
  const minutes = (one: TrainingJob, overrun?: number): readonly (number | undefined)[] => {
    const end = predictedEnd(one, at(0), overrun);
    return [end.at, end.latest].map((time) => (time === undefined ? undefined : (time.getTime() - START) / 60_000));
  };
  const limited = { ...waiting, spec: { ...waiting.spec, maxRuntimeSeconds: 12_000 } };
  expect([minutes(waiting), minutes(waiting, 10), minutes(limited, 10)]).toEqual([
    [103, 105],
    [103, 1_005],
    [103, 202],
  ]);
});
