import type { Attempt } from '@coxswain/api-types';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, NOW, settled } from '../testing/jobs.ts';

const ended = (epoch: number) =>
  anAttempt({ epoch, stage: 'Ended', outcome: 'Failed', reason: 'EngineFailed', charged: true, answer: 'Restart' });

const suspended = (epoch: number) =>
  anAttempt({ epoch, stage: 'Ended', outcome: 'Suspended', reason: 'SuspendRequested' });

const refused = (epoch: number, requested: string, limit?: number) =>
  anAttempt({
    ...ended(epoch),
    reason: 'PodsRefused',
    charged: false,
    message: `The cluster refuses pod x: pods "x" is forbidden: exceeded quota: few, requested: ${requested}, used: ${requested}, limited: ${limit === undefined ? requested : `count/pods=${limit}`}`,
  });

/** A job whose third attempt runs, seen with these pods and placements of earlier ones. */
function seen(about: {
  readonly pods?: readonly Partial<ObservedPod>[];
  readonly placements?: readonly number[];
  readonly firstEpoch?: number;
  readonly deletionTimestamp?: string;
  readonly attempts?: readonly Attempt[];
}) {
  const { pods = [], placements = [], firstEpoch = 1, deletionTimestamp } = about;
  const attempts = about.attempts ?? [1, 2].filter((epoch) => epoch >= firstEpoch).map(ended);
  const job = aJob({
    metadata: deletionTimestamp === undefined ? {} : { deletionTimestamp },
    status: aStatus({ attempts: [...attempts, anAttempt({ epoch: 3 })] }),
  });
  return observe({
    job,
    pods: [
      ...[0, 1].map((podIndex) => aPod(job, { epoch: 3, podIndex })),
      ...pods.map((pod) => aPod(job, { phase: 'Failed', ...pod })),
    ],
    placements: [3, ...placements].map((epoch) => aPlacement(job, { epoch })),
  });
}

const deletedIn = (observed: ReturnType<typeof seen>): readonly string[] =>
  settled(observed).actions.flatMap((action) => {
    if (action.kind === 'deletePods') return action.pods.map(({ name }) => `pod ${name.replace(/^.*-e/, 'e')}`);
    if (action.kind === 'deletePlacements')
      return action.placements.map(({ name }) => `placement ${name.replace(/^.*-e/, 'e')}`);
    return [];
  });

describe('what is left of earlier epochs', () => {
  it.each([
    [
      'ended pods of the last two attempts that failed stay, for their logs',
      { pods: [{ epoch: 1 }, { epoch: 2 }] },
      [],
    ],
    [
      'those of an attempt before that go',
      { attempts: [ended(0), ended(1), ended(2)], pods: [{ epoch: 0 }, { epoch: 0, podIndex: 1 }] },
      ['pod e0-0', 'pod e0-1'],
    ],
    [
      'those of an attempt that was suspended go before those of two that failed',
      { attempts: [ended(0), suspended(1), ended(2)], pods: [{ epoch: 0 }, { epoch: 1 }, { epoch: 2 }] },
      ['pod e1-0'],
    ],
    [
      'those of the attempt before stay if fewer failed',
      { attempts: [ended(1), suspended(2)], pods: [{ epoch: 1 }, { epoch: 2 }] },
      [],
    ],
    [
      'an attempt that has run nothing takes no place',
      { attempts: [ended(0), ended(1), { ...ended(2), reason: 'PodsRefused' as const }], pods: [{ epoch: 0 }] },
      [],
    ],
    [
      'none stay where a quota of pod objects has stopped an attempt',
      { attempts: [ended(1), refused(2, 'count/pods=1')], pods: [{ epoch: 1 }] },
      ['pod e1-0'],
    ],
    [
      'a quota of running pods counts no ended ones, so they stay',
      { attempts: [ended(1), refused(2, 'pods=1')], pods: [{ epoch: 1 }] },
      [],
    ],
    [
      'but not while a container beside the trainer runs',
      { pods: [{ epoch: 2, lingers: true as const }] },
      ['pod e2-0'],
    ],
    [
      'once told it may take its time',
      {
        pods: [
          { epoch: 2, lingers: true as const, deletionTimestamp: NOW.toISOString(), deletionGracePeriodSeconds: 60 },
        ],
      },
      [],
    ],
    [
      'nobody ends it while its gang trains',
      { pods: [{ epoch: 3, podIndex: 2, phase: 'Succeeded' as const, lingers: true as const }] },
      [],
    ],
    [
      'what goes already is not told twice',
      { attempts: [], pods: [{ epoch: 1, deletionTimestamp: NOW.toISOString() }] },
      [],
    ],
    ['placements stay as long as status tells of their attempt', { placements: [1, 2] }, []],
    ['and go when it does no longer', { placements: [1, 2], firstEpoch: 2 }, ['placement e1']],
    [
      'a job that is being deleted leaves that to its owner references',
      { placements: [1], firstEpoch: 2, deletionTimestamp: NOW.toISOString() },
      ['pod e3-0', 'pod e3-1'],
    ],
  ])('%s', (_sentence, about, want) => {
    expect(deletedIn(seen(about))).toEqual(want);
  });
});

it.each([
  [
    'the cluster refuses the next attempt for a quota of pod objects',
    'requested: count/pods=1, used: count/pods=2',
    ['pod e1-0'],
  ],
  ['it refuses it for another quota', 'requested: requests.cpu=1, used: requests.cpu=2', []],
])('the pods of the attempt that failed last: %s', (_sentence, why, want) => {
  const job = aJob({ status: aStatus({ attempts: [ended(1)] }) });
  const message = `pods "x" is forbidden: exceeded quota: few, ${why}, limited: 2`;
  const pods = [aPod(job, { phase: 'Failed', running: false })];
  const probed = observe({ job, pods, placements: [aPlacement(job)], podProbe: { kind: 'refused', message } });
  expect(deletedIn(probed)).toEqual(want);
});

describe('after a quota of pod objects has refused an attempt, and a later one has failed', () => {
  const over = (
    limit: number,
    more: { readonly attempts?: readonly Attempt[]; readonly observed?: Partial<Observed> } = {},
  ): Observed => {
    const before = more.attempts ?? [refused(1, 'count/pods=1', limit)];
    const epoch = before.length + 1;
    const failed = anAttempt({ ...ended(epoch), origin: { pod: aPod(aJob(), { epoch, podIndex: 1 }).name } });
    const job = aJob({ status: aStatus({ attempts: [...before, failed], epoch }) });
    const pods = [0, 1].map((podIndex) => aPod(job, { epoch, podIndex, phase: 'Failed', running: false }));
    return observe({ job, pods, placements: [aPlacement(job, { epoch })], ...more.observed });
  };
  const message =
    'pods "x" is forbidden: exceeded quota: few, requested: count/pods=1, used: count/pods=3, limited: count/pods=3';

  it.each<[string, Observed, readonly string[]]>([
    ['the pod of the failed rank stays where the quota has room for it beside a gang', over(3), ['pod e2-0']],
    ['none stays where the quota has room for one gang', over(2), ['pod e2-0', 'pod e2-1']],
    [
      'none stays where the quota has refused another attempt',
      over(3, { attempts: [refused(1, 'count/pods=1', 3), refused(2, 'count/pods=1', 3)] }),
      ['pod e3-0', 'pod e3-1'],
    ],
    [
      'none stays while the quota refuses a pod of some job of the namespace',
      over(3, { observed: { isShortOfPods: true } }),
      ['pod e2-0', 'pod e2-1'],
    ],
    [
      'none stays while the quota refuses the next attempt',
      over(3, { observed: { podProbe: { kind: 'refused', message } } }),
      ['pod e2-0', 'pod e2-1'],
    ],
  ])('%s', (_sentence, observed, want) => {
    expect(deletedIn(observed)).toEqual(want);
  });
});

it.each([
  ['a job that is given up makes room for others', true, ['pod e1-0']],
  ['and keeps its pods if no quota refuses any', false, []],
])('%s', (_sentence, isShortOfPods, want) => {
  const attempts = [anAttempt({ ...ended(1), answer: 'GiveUp' })];
  const job = aJob({ status: aStatus({ attempts }) });
  const pods = [aPod(job, { phase: 'Failed', running: false })];
  expect(deletedIn(observe({ job, pods, placements: [aPlacement(job)], isShortOfPods }))).toEqual(want);
});
