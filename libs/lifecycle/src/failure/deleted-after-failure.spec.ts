import type { ObservedPod } from '../observation/observed.ts';
import { podsDeletedAfterFailure } from './deleted-after-failure.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();

/** A pod that ended at that second, and whose delete was requested at another. */
function aPod(name: string, { endedAt, deletedAt }: { endedAt?: number; deletedAt?: number }): ObservedPod {
  const exit = endedAt === undefined ? {} : { exit: { exitCode: 1, reason: 'Error', finishedAt: at(endedAt) } };
  const deletion =
    deletedAt === undefined ? {} : { deletionTimestamp: at(deletedAt + 30), deletionGracePeriodSeconds: 30 };
  return { name, phase: endedAt === undefined ? 'Running' : 'Failed', ...exit, ...deletion } as ObservedPod;
}

describe('exits that follow a delete of the rest of a gang', () => {
  it.each<[string, Readonly<Record<string, { endedAt?: number; deletedAt?: number }>>, readonly string[]]>([
    [
      'are those of pods deleted after another pod failed',
      { a: { endedAt: 10 }, b: { endedAt: 400, deletedAt: 310 } },
      ['b'],
    ],
    [
      'are these also if the failed pod was deleted later',
      { a: { endedAt: 10, deletedAt: 310 }, b: { endedAt: 400, deletedAt: 310 } },
      ['b'],
    ],
    [
      'are none if the delete came first, and the peers failed after it',
      { a: { endedAt: 12 }, b: { endedAt: 11, deletedAt: 5 } },
      [],
    ],
    ['are none if every pod was deleted', { a: { endedAt: 9, deletedAt: 5 }, b: { endedAt: 11, deletedAt: 5 } }, []],
    ['are none if no pod was deleted', { a: { endedAt: 10 }, b: { endedAt: 11 } }, []],
    ['are none while the deleted pod runs', { a: { endedAt: 10 }, b: { deletedAt: 310 } }, []],
  ])('%s', (_, pods, want) => {
    const gang = Object.entries(pods).map(([name, times]) => aPod(name, times));
    expect([...podsDeletedAfterFailure(gang)].map(({ name }) => name)).toEqual(want);
  });
});
