import { type EpochSteps, type Piece, planCurve, segmentsOf } from './curve-plan.ts';

const EVERYTHING = { fromStep: 0, toStep: Number.MAX_SAFE_INTEGER };
const epoch = (number: number, firstStep: number, lastStep: number): EpochSteps => ({
  epoch: number,
  firstStep,
  lastStep,
});
const plain = (pieces: readonly { epoch: number; fromStep: number; toStep: number; width?: number }[]): string[] =>
  pieces.map(
    ({ epoch: of, fromStep, toStep, width }) =>
      `${of}: ${fromStep}-${toStep}${width === undefined ? '' : ` /${width}`}`,
  );

describe('what counts of epochs', () => {
  it.each<[string, readonly EpochSteps[], object, readonly string[]]>([
    ['is nothing before the first step', [], {}, []],
    ['is all of one epoch', [epoch(1, 1, 90)], {}, ['1: 1-90']],
    ['ends where a later epoch began again', [epoch(1, 1, 90), epoch(2, 51, 70)], {}, ['1: 1-50', '2: 51-70']],
    ['is the later epoch alone where it began from scratch', [epoch(1, 1, 90), epoch(2, 1, 5)], {}, ['2: 1-5']],
    [
      'ends at the earliest of all later beginnings',
      [epoch(1, 1, 90), epoch(2, 31, 80), epoch(3, 51, 60)],
      {},
      ['1: 1-30', '2: 31-50', '3: 51-60'],
    ],
    ['is ordered by epochs, however they come', [epoch(2, 51, 70), epoch(1, 1, 90)], {}, ['1: 1-50', '2: 51-70']],
    ['leaves a hole where nothing was recorded', [epoch(1, 1, 20), epoch(2, 51, 70)], {}, ['1: 1-20', '2: 51-70']],
    ['is all of an epoch that is named, undone or not', [epoch(1, 1, 90), epoch(2, 51, 70)], { epoch: 1 }, ['1: 1-90']],
    [
      'is what lies in the window',
      [epoch(1, 1, 90), epoch(2, 51, 70)],
      { fromStep: 40, toStep: 60 },
      ['1: 40-50', '2: 51-60'],
    ],
  ])('%s', (_sentence, epochs, window, want) => {
    expect(plain(segmentsOf(epochs, { ...EVERYTHING, ...window }))).toEqual(want);
  });
});

interface Asked {
  readonly maxPoints: number;
  readonly finest?: number;
  readonly fromStep?: number;
  readonly toStep?: number;
}

describe('how a curve is read', () => {
  it.each<[string, readonly EpochSteps[], Asked, { group: number; pieces: readonly string[] }]>([
    [
      'step by step where that is few enough',
      [epoch(1, 1, 90)],
      { maxPoints: 90 },
      { group: 1, pieces: ['1: 1-90 /1'] },
    ],
    [
      'in groups of steps, below the finest level',
      [epoch(1, 1, 90)],
      { maxPoints: 31 },
      { group: 3, pieces: ['1: 1-90 /1'] },
    ],
    ['from the level of ten', [epoch(1, 1, 900)], { maxPoints: 100 }, { group: 10, pieces: ['1: 1-900 /10'] }],
    [
      'from the level below its group',
      [epoch(1, 0, 499_999)],
      { maxPoints: 2_000 },
      { group: 300, pieces: ['1: 0-499999 /100'] },
    ],
    [
      'from the coarsest level for as long as there may be',
      [epoch(1, 0, 9_999_999)],
      { maxPoints: 100 },
      { group: 100_000, pieces: ['1: 0-9999999 /1000'] },
    ],
    [
      'with what a restart left of a bucket from the finer ones, and the rest from the steps themselves',
      [epoch(1, 0, 9_999), epoch(2, 5_057, 9_999)],
      { maxPoints: 110 },
      { group: 100, pieces: ['1: 0-4999 /100', '1: 5000-5049 /10', '1: 5050-5056 /1', '2: 5057-9999 /100'] },
    ],
    [
      'with the borders of a window from finer levels',
      [epoch(1, 0, 9_999)],
      { maxPoints: 75, fromStep: 1_050, toStep: 8_049 },
      { group: 100, pieces: ['1: 1050-1099 /10', '1: 1100-7999 /100', '1: 8000-8049 /10'] },
    ],
    [
      'from the steps alone where no bucket of any level lies inside',
      [epoch(1, 0, 99_999), epoch(2, 50_010, 50_020), epoch(3, 50_015, 99_999)],
      { maxPoints: 1_100 },
      { group: 100, pieces: ['1: 0-49999 /100', '1: 50000-50009 /10', '2: 50010-50014 /1', '3: 50015-99999 /100'] },
    ],
    [
      'from levels alone where the steps are not kept any more',
      [epoch(1, 0, 999), epoch(2, 557, 999)],
      { maxPoints: 1_000, finest: 10 },
      { group: 10, pieces: ['1: 0-556 /10', '2: 557-999 /10'] },
    ],
    [
      'as the newest epochs where there are more of them than points',
      [epoch(1, 1, 9), epoch(2, 10, 19), epoch(3, 20, 29)],
      { maxPoints: 2 },
      { group: 20, pieces: ['2: 10-19 /10', '3: 20-29 /10'] },
    ],
  ])('is %s', (_sentence, epochs, { maxPoints, finest = 1, ...window }, want) => {
    const plan = planCurve(segmentsOf(epochs, { ...EVERYTHING, ...window }), { maxPoints, finest });
    expect({ group: plan.group, pieces: plain(plan.pieces) }).toEqual(want);
  });

  it('reads every step that counts once, and at most as many points as were asked for, whatever the restarts', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const epochs = someEpochs(seed);
      const segments = segmentsOf(epochs, EVERYTHING);
      const { group, pieces } = planCurve(segments, { maxPoints: 40, finest: 1 });
      expect(new Set(segments.flatMap((segment) => groupsOf(segment, group))).size).toBeLessThanOrEqual(40);
      expect(joined(pieces)).toEqual(plain(segments));
    }
  });

  it('reads few rows beside the buckets of its level: eighteen of each finer width at most, for each segment', () => {
    const epochs = Array.from({ length: 500 }, (_, index) =>
      epoch(index + 1, index * 9_501 + 1, index * 9_501 + 9_998),
    );
    const segments = segmentsOf(epochs, EVERYTHING);
    const { pieces } = planCurve(segments, { maxPoints: 2_000, finest: 1 });
    const finer = pieces.filter(({ width }) => width < 1_000);
    const rows = finer.reduce(
      (sum, { fromStep, toStep, width }) => sum + Math.ceil((toStep - fromStep + 1) / width),
      0,
    );
    expect(pieces.some(({ width }) => width === 1_000)).toBe(true);
    expect(rows).toBeLessThanOrEqual(segments.length * 3 * 18);
  });
});

function groupsOf({ epoch: of, fromStep, toStep }: Omit<Piece, 'width'>, group: number): readonly string[] {
  const groups: string[] = [];
  for (let index = Math.floor(fromStep / group); index <= Math.floor(toStep / group); index++) {
    groups.push(`${of}/${index}`);
  }
  return groups;
}

/** Pieces that follow each other, as one. */
function joined(pieces: readonly Piece[]): readonly string[] {
  const whole: { epoch: number; fromStep: number; toStep: number }[] = [];
  for (const { epoch: of, fromStep, toStep } of pieces) {
    const last = whole.at(-1);
    if (last?.epoch === of && last.toStep === fromStep - 1) last.toStep = toStep;
    else whole.push({ epoch: of, fromStep, toStep });
  }
  return plain(whole);
}

function someEpochs(seed: number): readonly EpochSteps[] {
  let state = seed;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  let lastStep = 0;
  return Array.from({ length: 1 + random(6) }, (_, index) => {
    const firstStep = Math.max(0, lastStep - random(3_000));
    lastStep = firstStep + random(20_000);
    return epoch(index + 1, firstStep, lastStep);
  });
}
