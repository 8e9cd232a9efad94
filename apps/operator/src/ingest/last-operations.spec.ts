import type { RankWatermark } from '@coxswain/api-types';
import { lastOperations } from './last-operations.ts';

const group = { group: 'g', operation: 'all_reduce', bytes: 8, started: 7, completed: 6, enqueued: 7, ageMs: 20_000 };

/** A rank that waits in group `g` for so long; 0: it waits in none. */
function aMark(rank: number, ageMs: number): RankWatermark {
  const groups = [ageMs === 0 ? { ...group, enqueued: 6, started: 6 } : { ...group, ageMs }];
  return { rank, step: 5, phase: 'training', phaseAgeMs: 30_000, groups };
}

const marksOf = (...marks: readonly RankWatermark[]): ReadonlyMap<number, RankWatermark> =>
  new Map(marks.map((mark) => [mark.rank, mark]));

describe('what ranks did last', () => {
  it('is told of those that are named, then of those that have waited longest', () => {
    const marks = marksOf(aMark(0, 1_000), aMark(1, 3_000), aMark(2, 2_000), aMark(3, 0));
    expect(lastOperations({ ranks: [3], group: 'g' }, marks)).toEqual([
      { rank: 3, phase: 'training', step: 5, forMs: 30_000 },
      ...[1, 2, 0].map((rank) => ({
        rank,
        phase: 'training',
        step: 5,
        operation: 'all_reduce',
        group: 'g',
        sequence: 7,
        forMs: marks.get(rank)?.groups[0]?.ageMs,
      })),
    ]);
  });

  it('is of eight ranks at most, half of them those that wait, and nothing of ranks that never spoke', () => {
    const marks = marksOf(...Array.from({ length: 100 }, (_, rank) => aMark(rank, rank < 20 ? 0 : rank)));
    const ranks = Array.from({ length: 16 }, (_, rank) => rank);
    expect(lastOperations({ ranks }, marks).map((one) => one.rank)).toEqual([0, 1, 2, 3, 99, 98, 97, 96]);
    expect(lastOperations({ ranks: [3] }, marksOf())).toEqual([]);
  });

  it('is the wait in the group that is spoken of, though another is longer', () => {
    const mark = {
      ...aMark(0, 1_000),
      groups: [
        { ...group, group: 'other' },
        { ...group, ageMs: 5 },
      ],
    };
    expect(lastOperations({ ranks: [0], group: 'g' }, marksOf(mark))).toMatchObject([{ group: 'g', forMs: 5 }]);
    expect(lastOperations({ ranks: [0] }, marksOf(mark))).toMatchObject([{ group: 'other' }]);
  });
});
