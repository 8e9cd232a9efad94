import type { Attempt, Placement, TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { rightOfReturn } from './rights-of-return.ts';

const NOW = new Date('2026-01-02T00:00:00Z');
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1_000).toISOString();

const made = (about: Partial<Attempt> = {}, returnUntil?: string): Attempt =>
  anAttempt({
    epoch: 1,
    stage: 'Ended',
    placement: 'left',
    layout: aLayout({ dataParallelDegree: 16 }),
    stoppingAt: ago(3_600),
    endedAt: ago(3_500),
    outcome: 'Moved',
    reason: 'MadeRoom',
    forClaim: {
      uid: 'high',
      epoch: 1,
      priority: 9,
      wayOut: 'Wait',
      deadline: ago(3_500),
      ...(returnUntil === undefined ? {} : { returnUntil }),
    },
    ...about,
  });
const later = (about: Partial<Attempt>): Attempt =>
  anAttempt({
    epoch: 2,
    placement: 'smaller',
    stage: 'Released',
    layout: aLayout({ dataParallelDegree: 8 }),
    ...about,
  });

const job = (uid: string, status: Partial<TrainingJobStatus>, spec: Partial<TrainingJob['spec']> = {}): TrainingJob =>
  aTrainingJob({
    metadata: { uid, name: uid },
    spec,
    status: { epoch: 1, restarts: { total: 0, charged: 0 }, ...status },
  });
const low = (...attempts: readonly Attempt[]): TrainingJob => job('low', { attempts: [...attempts] });
const placement = (name: string, nodes: readonly string[]): Placement =>
  ({
    metadata: { name, uid: name },
    spec: { jobUid: 'low', nodes, ranksPerPod: 8, worldSize: 8 * nodes.length },
  }) as unknown as Placement;
const PLACEMENTS = [placement('left', ['a', 'b']), placement('smaller', ['b'])];

const done = { type: 'Complete', status: 'True', reason: 'Succeeded', message: '' } as const;
const BOTH = new Map([
  ['a', 8],
  ['b', 8],
]);
const HIGH = {
  runs: job('high', { attempts: [anAttempt({ stage: 'Released' })] }),
  ended: job('high', {
    attempts: [anAttempt({ stage: 'Ended', outcome: 'Succeeded', endedAt: ago(60) })],
    conditions: [{ ...done, lastTransitionTime: ago(60), observedGeneration: 1 }],
  }),
  failed: job('high', { attempts: [anAttempt({ stage: 'Ended', outcome: 'Failed', endedAt: ago(60) })] }),
  gone: undefined,
} as const;

const open = (seconds: number): object => ({ until: new Date(NOW.getTime() + seconds * 1_000) });

describe('the right of a job to get the nodes back that it left for another one', () => {
  it.each<[string, TrainingJob, keyof typeof HIGH, object | undefined]>([
    ['waits while the other job runs', low(made()), 'runs', { epoch: 1, gpus: BOTH }],
    ['waits while the other job starts again after a failure', low(made()), 'failed', { gpus: BOTH }],
    ['is open for two minutes after the end of the other job', low(made()), 'ended', open(60)],
    ['is open from now on if the other job is gone', low(made()), 'gone', open(120)],
    ['begins when its own gang has ended', low(made({ endedAt: ago(10) })), 'ended', open(110)],
    ['waits while its own gang stops', low(made({ stage: 'Stopping' })), 'gone', { epoch: 1 }],
    ['ends when status says so', low(made({}, ago(1))), 'gone', undefined],
    ['lasts as long as status says', low(made({}, ago(-30))), 'gone', open(30)],
    ['is over after a day', low(made({ stoppingAt: ago(86_401) })), 'runs', undefined],
    ['is over when it has as many GPUs as before', low(made(), later({ layout: made().layout })), 'ended', undefined],
    [
      'is for the missing GPUs of a gang that shrank',
      low(made(), later({})),
      'ended',
      { gpus: new Map([['a', 8]]), ...open(60) },
    ],
    [
      'is for all its nodes once that gang has stopped to take them, and lasts ten minutes from then on',
      low(made({}, ago(10)), later({ stage: 'Stopping', outcome: 'Resized', stoppingAt: ago(20) })),
      'ended',
      { gpus: BOTH, ...open(580) },
    ],
    [
      'is for the nodes that its gang left to grow, for ten minutes from its stop on',
      low(later({ stage: 'Ended', outcome: 'Resized', stoppingAt: ago(20) })),
      'gone',
      { epoch: 2, gpus: new Map([['b', 8]]), ...open(580) },
    ],
    [
      'is over when a gang that stopped to grow found no room for ten minutes',
      low(later({ stage: 'Ended', outcome: 'Resized', stoppingAt: ago(600) })),
      'gone',
      undefined,
    ],
    ['is none for a job that is suspended', job('low', { attempts: [made()] }, { suspend: true }), 'ended', undefined],
    ['is none for a job that made no room', low(anAttempt({ stage: 'Ended' })), 'gone', undefined],
  ])('%s', (_what, its, other, right) => {
    const view = { job: () => HIGH[other], placements: () => PLACEMENTS };
    const found = rightOfReturn(its, view, NOW);
    if (right === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(right);
    if (right !== undefined && !('until' in right)) expect(found).not.toHaveProperty('until');
  });
});
