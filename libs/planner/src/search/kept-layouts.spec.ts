import fc from 'fast-check';
import { OBJECTIVES } from '../contract.ts';
import { aCandidate } from '../testing/candidates.ts';
import {
  BestLayouts,
  FRONT_SLOWDOWN,
  frontOverGpuCounts,
  ParetoFront,
  rankingOf,
  type MeasuredLayout,
} from './kept-layouts.ts';

const POINT = aCandidate();
const layout = (stepTimeS: number, peakBytes: number, over: Partial<MeasuredLayout> = {}): MeasuredLayout => ({
  candidate: POINT,
  gpus: 8,
  stepTimeS,
  peakBytes,
  order: 0,
  ...over,
});

/** Small whole numbers, so that many layouts are equal in one thing or both; each with a number of its own. */
const offered = fc
  .array(fc.record({ stepTimeS: fc.integer({ min: 8, max: 16 }), peakBytes: fc.nat(8), gpus: fc.constantFrom(4, 8) }), {
    maxLength: 30,
  })
  .chain((layouts) =>
    fc
      .shuffledSubarray([...layouts.keys()], { minLength: layouts.length })
      .map((orders) =>
        layouts.map((of, index): MeasuredLayout => ({ ...of, candidate: POINT, order: orders[index] ?? 0 })),
      ),
  );

const byRanking =
  (objective: (typeof OBJECTIVES)[number]) =>
  (a: MeasuredLayout, b: MeasuredLayout): number => {
    const [left, right] = [rankingOf(objective, a), rankingOf(objective, b)];
    const differing = left.findIndex((value, index) => value !== right[index]);
    return (left[differing] ?? 0) - (right[differing] ?? 0);
  };

describe('the ranking of layouts', () => {
  const fast = layout(10, 50, { gpus: 16 });
  const cheap = layout(15, 40, { gpus: 8 });
  it.each<[(typeof OBJECTIVES)[number], string, MeasuredLayout, MeasuredLayout]>([
    ['time', 'the faster step', fast, cheap],
    ['cost', 'fewer GPU seconds', cheap, fast],
    ['gpus', 'fewer GPUs', cheap, fast],
    ['memory', 'the smaller peak', cheap, fast],
    ['time', 'of equally fast ones the smaller peak', layout(10, 40), layout(10, 50)],
    ['cost', 'of equally dear ones the faster step', layout(5, 90, { gpus: 16 }), layout(10, 50)],
    ['gpus', 'of equally many the faster step', layout(9, 90), layout(10, 50)],
    ['memory', 'of equally small ones the faster step', layout(9, 50), layout(10, 50)],
    ['time', 'of equal ones the first of the space', layout(10, 50, { order: 1 }), layout(10, 50, { order: 2 })],
  ])('by %s puts %s first', (objective, _sentence, first, second) => {
    const best = new BestLayouts(objective, 2);
    best.offer(second);
    best.offer(first);
    expect(best.layouts).toEqual([first, second]);
  });
});

describe('the best few', () => {
  const asked = fc.record({ objective: fc.constantFrom(...OBJECTIVES), size: fc.integer({ min: 1, max: 6 }), offered });

  it('are the first of all that were offered when these are sorted, in whichever sequence they came', () => {
    fc.assert(
      fc.property(asked, ({ objective, size, offered: layouts }) => {
        const best = new BestLayouts(objective, size);
        for (const one of layouts) best.offer(one);
        expect(best.layouts).toEqual([...layouts].sort(byRanking(objective)).slice(0, size));
      }),
    );
  });

  it('exclude a branch only if nothing that takes as much as its bounds would be kept', () => {
    fc.assert(
      fc.property(asked, fc.nat(4), fc.nat(4), ({ objective, size, offered: layouts }, moreS, moreBytes) => {
        const [candidate, ...others] = layouts;
        if (candidate === undefined) return;
        const best = new BestLayouts(objective, size);
        for (const one of others) best.offer(one);
        const { stepTimeS, peakBytes, gpus } = candidate;
        const isExcluded = best.excludes(stepTimeS - moreS, peakBytes - moreBytes, gpus);
        best.offer(candidate);
        if (isExcluded) expect(best.layouts).not.toContain(candidate);
      }),
    );
  });

  it('exclude what is worse than the last of them, once there are as many as wanted', () => {
    const best = new BestLayouts('time', 2);
    best.offer(layout(10, 50));
    expect(best.excludes(99, 99, 8)).toBe(false);
    best.offer(layout(12, 50));
    expect(best.excludes(12.5, 0, 8)).toBe(true);
    expect(best.excludes(11, 99, 8)).toBe(false);
    expect(best.excludes(12, 50, 8)).toBe(false);
    expect(best.emptyCopy().excludes(99, 99, 8)).toBe(false);
  });
});

/** The second way: each layout against each other one. */
function frontOf(layouts: readonly MeasuredLayout[]): readonly MeasuredLayout[] {
  const fastestS = Math.min(...layouts.map(({ stepTimeS }) => stepTimeS));
  const beats = (a: MeasuredLayout, b: MeasuredLayout): boolean => {
    if (a.stepTimeS > b.stepTimeS || a.peakBytes > b.peakBytes) return false;
    const isEqual = a.stepTimeS === b.stepTimeS && a.peakBytes === b.peakBytes;
    return !isEqual || a.order < b.order;
  };
  return layouts
    .filter((one) => one.stepTimeS <= FRONT_SLOWDOWN * fastestS && !layouts.some((other) => beats(other, one)))
    .sort((a, b) => a.stepTimeS - b.stepTimeS);
}

describe('the Pareto front', () => {
  it('holds exactly what no other layout beats, in whichever sequence they came', () => {
    fc.assert(
      fc.property(offered, (layouts) => {
        const front = new ParetoFront();
        for (const one of layouts) front.offer(one);
        expect(front.layouts).toEqual(frontOf(layouts));
      }),
      { numRuns: 300 },
    );
  });

  it('excludes a branch only if nothing that takes as much as its bounds would be on it', () => {
    fc.assert(
      fc.property(offered, fc.nat(4), fc.nat(4), ([candidate, ...others], moreS, moreBytes) => {
        if (candidate === undefined) return;
        const front = new ParetoFront();
        for (const one of others) front.offer(one);
        const isExcluded = front.excludes(candidate.stepTimeS - moreS, candidate.peakBytes - moreBytes);
        if (isExcluded) expect(frontOf([candidate, ...others])).not.toContain(candidate);
      }),
      { numRuns: 300 },
    );
  });

  it.each<[string, number, number, boolean]>([
    ['slower and larger', 11, 51, true],
    ['as fast and larger', 10, 51, true],
    ['slower and as large', 11, 50, true],
    ['faster', 9, 99, false],
    ['smaller', 12, 49, false],
    ['equal: it may come before', 10, 50, false],
    ['smaller, but more than a quarter slower', 12.6, 1, true],
  ])('of one layout excludes what is %s', (_sentence, timeS, bytes, want) => {
    const front = new ParetoFront();
    front.offer(layout(10, 50));
    expect(front.excludes(timeS, bytes)).toBe(want);
  });
});

describe('the front over GPU counts', () => {
  const few = layout(12, 40, { gpus: 4 });
  it.each<[string, MeasuredLayout, boolean]>([
    ['slower on more GPUs', layout(13, 45, { gpus: 8 }), false],
    ['as fast and as large on more GPUs', layout(12, 40, { gpus: 8 }), false],
    ['faster on more GPUs', layout(11, 45, { gpus: 8 }), true],
    ['smaller on more GPUs', layout(13, 39, { gpus: 8 }), true],
    ['slower and larger on fewer GPUs', layout(13, 45, { gpus: 2 }), true],
  ])('keeps beside a layout on 4 GPUs what is %s: %s', (_sentence, other, isKept) => {
    expect(frontOverGpuCounts([[few], [other]]).includes(other)).toBe(isKept);
    expect(frontOverGpuCounts([[few], [other]])).toContain(few);
  });

  it('is sorted by time, then by GPUs', () => {
    const slow = layout(13, 30, { gpus: 8 });
    const fast = layout(11, 50, { gpus: 8 });
    const equal = layout(12, 35, { gpus: 8 });
    expect(frontOverGpuCounts([[fast, slow], [few], [equal]])).toEqual([fast, few, equal, slow]);
  });
});
