/** The ranks of a job in words, and how keys go from one to the next. */
import type { RankPlace } from '@coxswain/api-types';
import { aRankPlace } from '@coxswain/api-types/testing';
import { formatGang, formatRank } from './format-ranks.ts';
import { rankAfterKey } from './rank-after-key.ts';
import { paceOf, type SeenRank } from './rank-geometry.ts';

const rank = (changes: Partial<RankPlace> = {}, switches: readonly string[] = []): SeenRank => ({
  ...aRankPlace(changes),
  switches,
});
const gang = (...stepTimesMs: readonly (number | null)[]): readonly SeenRank[] =>
  stepTimesMs.map((stepTimeMs, number) => rank({ rank: number, stepTimeMs }));

describe('a gang', () => {
  const sentence = (...stepTimesMs: readonly (number | null)[]): string =>
    formatGang(stepTimesMs.length, 3, paceOf(gang(...stepTimesMs)));

  it.each<[string, readonly (number | null)[], string]>([
    ['of one rank', [100], 'Attempt 3, 1 rank. Median step time 100.0 ms. All ranks have about the same step time.'],
    ['before a step', [null, null], 'Attempt 3, 2 ranks. Point at a rank to see its place.'],
    [
      'of which one rank is measured',
      [null, 80],
      'Attempt 3, 2 ranks. Median step time 80.0 ms. All ranks have about the same step time.',
    ],
    [
      'with a rank that takes a fifth longer',
      [100, 100, 121],
      'Attempt 3, 3 ranks. Median step time 100.0 ms. The slowest is rank 2 on node-1: 1.21 × the median.',
    ],
    [
      'with a rank that takes ten times as long',
      [1_000, 100, 100],
      'Attempt 3, 3 ranks. Median step time 100.0 ms. The slowest is rank 0 on node-0: 10.00 × the median.',
    ],
    [
      'of two ranks, of which one takes three times as long',
      [100, 300],
      'Attempt 3, 2 ranks. Median step time 200.0 ms. The slowest is rank 1 on node-0: 1.50 × the median.',
    ],
    [
      'of which half the ranks are slow',
      [100, 100, 200, 220],
      'Attempt 3, 4 ranks. Median step time 150.0 ms. The slowest is rank 3 on node-1: 1.47 × the median.',
    ],
  ])('%s', (_what, stepTimesMs, want) => {
    expect(sentence(...stepTimesMs)).toBe(want);
  });

  it('of many ranks has their number with a comma', () => {
    expect(formatGang(16_384, 1, paceOf([]))).toBe('Attempt 1, 16,384 ranks. Point at a rank to see its place.');
  });
});

describe('a rank', () => {
  const PLACE = 'Rank 0 on node node-0, pod tiny-gpt-3f1c2b9e-e1-0; tensor 0, data 0, pipeline 0.';
  const sentence = (place: SeenRank, ...others: readonly SeenRank[]): string =>
    formatRank(place, paceOf([place, ...others]));

  it.each<[string, SeenRank, readonly SeenRank[], string]>([
    ['at the median', rank(), [], `${PLACE} Step 10, took 100.0 ms (1.00 × the median).`],
    ['before a step', rank({ stepTimeMs: null, lastStep: null }), [], `${PLACE} Not measured yet.`],
    ['without a step time', rank({ stepTimeMs: null }), [rank()], `${PLACE} Not measured yet.`],
    [
      'that is behind',
      rank({ lastStep: 8, stepTimeMs: 150 }),
      [rank({ rank: 1 }), rank({ rank: 2 })],
      `${PLACE} Step 8, 2 behind, took 150.0 ms (1.50 × the median).`,
    ],
    ['that is furthest', rank({ lastStep: 12 }), [rank()], `${PLACE} Step 12, took 100.0 ms (1.00 × the median).`],
  ])('%s', (_what, place, others, want) => {
    expect(sentence(place, ...others)).toBe(want);
  });

  it.each<[string, readonly string[], string]>([
    ['leaf and spine', ['tier-1=s1/tier-0=l2', 'tier-1=s1'], 'e1-0, below l2, below s1; tensor'],
    ['the leaf alone', ['tier-0=l2'], 'e1-0, below l2; tensor'],
    ['the spine alone, if no label names the leaf', ['tier-1=s1/?', 'tier-1=s1'], 'e1-0, below s1; tensor'],
    ['no switch above these two', ['l', 's', 'core'], 'below l, below s; tensor'],
  ])('is below %s', (_what, switches, words) => {
    expect(sentence(rank({}, switches))).toContain(words);
  });

  it('has its place in the layout', () => {
    const place = rank({ tensorIndex: 3, dataIndex: 12, pipelineIndex: 1 });
    expect(sentence(place)).toContain('; tensor 3, data 12, pipeline 1.');
  });
});

describe('a key on the map of ranks', () => {
  const RANKS = [0, 1, 8, 9];
  it.each<[string, number | undefined, number | undefined]>([
    ['ArrowRight', 1, 8],
    ['ArrowDown', 1, 8],
    ['ArrowLeft', 8, 1],
    ['ArrowUp', 8, 1],
    ['Home', 8, 0],
    ['End', 1, 9],
    ['ArrowRight', 9, 9],
    ['ArrowLeft', 0, 0],
    ['ArrowRight', undefined, 0],
    ['ArrowLeft', undefined, 0],
    ['ArrowRight', 77, 0],
    ['Tab', 1, undefined],
    ['a', undefined, undefined],
  ])('%s goes from rank %j to rank %j', (key, shown, want) => {
    expect(rankAfterKey(key, RANKS, shown)).toBe(want);
  });

  it('goes nowhere where there are no ranks', () => {
    expect(rankAfterKey('End', [], undefined)).toBeUndefined();
  });
});
