import fc from 'fast-check';
import { z } from 'zod';
import { MAX_RANKS_PER_POD } from './pod-size.ts';
import { RankTiming, RankTimings } from './rank-timings.ts';

const bySchema = z.array(RankTiming).max(MAX_RANKS_PER_POD);

const A_TIMING = { rank: 3, stepTimeMs: 1_000.5, timingsMs: { forward: 311.2, backward: 645.7 } };
const oddValue = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom<unknown>(null, -0, -1, 1e12, 1e13, '1', true, [], {}, 'x'.repeat(33)),
);
const aTiming = fc.record(
  {
    rank: fc.oneof({ weight: 9, arbitrary: fc.nat(70_000) }, { weight: 1, arbitrary: oddValue }),
    stepTimeMs: fc.oneof(
      { weight: 9, arbitrary: fc.double({ min: 0, max: 2e12 }) },
      { weight: 1, arbitrary: oddValue },
    ),
    timingsMs: fc.oneof(
      { weight: 9, arbitrary: fc.dictionary(fc.string({ maxLength: 36 }), fc.double({ min: 0 }), { maxKeys: 4 }) },
      { weight: 1, arbitrary: oddValue },
    ),
    more: oddValue,
  },
  { requiredKeys: ['rank', 'stepTimeMs', 'timingsMs'] },
);

describe('timings of ranks', () => {
  it('are taken where the schema takes them, and refused where it refuses them', () => {
    fc.assert(
      fc.property(fc.oneof(fc.array(aTiming, { maxLength: 4 }), oddValue), (value) => {
        expect(RankTimings.safeParse(value).success).toBe(bySchema.safeParse(value).success);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each<[string, unknown, boolean]>([
    ['as launchers tell them', [A_TIMING], true],
    ['of no rank', [], true],
    ['of more ranks than a pod has', Array.from({ length: MAX_RANKS_PER_POD + 1 }, () => A_TIMING), false],
    ['with a field too many', [{ ...A_TIMING, node: 'a' }], false],
    ['without a rank', [{ ...A_TIMING, rank: undefined }], false],
    ['with half a rank', [{ ...A_TIMING, rank: 0.5 }], false],
    ['with a name of 33 characters', [{ ...A_TIMING, timingsMs: { ['x'.repeat(33)]: 1 } }], false],
    ['with a time before zero', [{ ...A_TIMING, timingsMs: { forward: -1 } }], false],
    ['with no number', [{ ...A_TIMING, stepTimeMs: Number.NaN }], false],
    ['that are none', 'x', false],
  ])('%s', (_sentence, value, want) => {
    expect([RankTimings.safeParse(value).success, bySchema.safeParse(value).success]).toEqual([want, want]);
  });

  it('whose name is that of an object’s prototype are refused, where the schema passes over it', () => {
    const value: unknown = JSON.parse('[{"rank":0,"stepTimeMs":1,"timingsMs":{"__proto__":1}}]');
    expect(RankTimings.safeParse(value).success).toBe(false);
  });
});
