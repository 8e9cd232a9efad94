import { StarterRanks } from './starter-ranks.ts';

/** Which ranks run at each second, from the start of the starter. */
type Course = readonly (readonly number[])[];

function afterwards(course: Course): { readonly finished: readonly number[]; readonly newsAt: readonly number[] } {
  const ranks = new StarterRanks([0, 1, 2]);
  const newsAt = course.flatMap((running, second) =>
    ranks.observe(new Map(running.map((rank) => [rank, 100 + rank])), 1_000 * second) ? [second] : [],
  );
  return { finished: ranks.finished, newsAt };
}

const ALL = [0, 1, 2];

describe('a rank of a starter', () => {
  it.each<[string, Course, readonly number[], readonly number[]]>([
    ['that runs has not finished', [ALL, ALL, ALL, ALL], [], []],
    ['that is gone for two seconds has finished, and is news once', [ALL, [0, 2], [0, 2], [0, 2], [0, 2]], [1], [3]],
    ['that is gone for a second may have failed', [ALL, [0, 2], [0, 2]], [], []],
    ['that is there again has not finished', [ALL, [0, 2], ALL, [0, 2], [0, 2]], [], []],
    ['has not finished before any was seen: its starter still loads', [[], [], [], [], []], [], []],
    ['that ended before it was seen has finished', [[], [0, 2], [0, 2], [0, 2]], [1], [3]],
    ['has finished with all others, while the starter waits for those of other pods', [ALL, [], [], []], ALL, [3]],
  ])('%s', (_sentence, course, finished, newsAt) => {
    expect(afterwards(course)).toEqual({ finished, newsAt });
  });

  it('whose exit code the kernel shows has finished at once, and keeps its process', () => {
    const ranks = new StarterRanks([0, 1, 2]);
    ranks.observe(new Map([[1, 101]]), 0);
    expect([ranks.finish(1), ranks.finish(1), ranks.finished, ranks.pids.get(1)]).toEqual([true, false, [1], 101]);
  });
});
