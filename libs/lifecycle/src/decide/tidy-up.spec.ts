import type { ObservedPod } from '../observation/observed.ts';
import { aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, NOW, settled } from '../testing/jobs.ts';

const ended = (epoch: number) =>
  anAttempt({ epoch, stage: 'Ended', outcome: 'Failed', reason: 'EngineFailed', charged: true, answer: 'Restart' });

/** A job whose third attempt runs, seen with these pods and placements of earlier ones. */
function seen(about: {
  readonly pods?: readonly Partial<ObservedPod>[];
  readonly placements?: readonly number[];
  readonly firstEpoch?: number;
  readonly deletionTimestamp?: string;
}) {
  const { pods = [], placements = [], firstEpoch = 1, deletionTimestamp } = about;
  const attempts = [1, 2].filter((epoch) => epoch >= firstEpoch).map(ended);
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
    ['ended pods of the epoch before stay, for their logs', { pods: [{ epoch: 2 }] }, []],
    ['those of earlier ones go', { pods: [{ epoch: 1 }, { epoch: 1, podIndex: 1 }] }, ['pod e1-0', 'pod e1-1']],
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
    ['what goes already is not told twice', { pods: [{ epoch: 1, deletionTimestamp: NOW.toISOString() }] }, []],
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
