import fc from 'fast-check';
import { type GrowthObstacle, growthObstacle, type GrowthQuestion, growthWaitMs, shrinkWaitMs } from './size-rules.ts';

const HOUR = 3_600;

/** From 8 to 16 GPUs, twice as fast, at 270 s, ten hours before its end. */
const PAYS: GrowthQuestion = {
  fromGpus: 8,
  toGpus: 16,
  speedup: 2,
  costSeconds: 270,
  horizonSeconds: 10 * HOUR,
  ranSeconds: HOUR,
  borrows: false,
};

describe('a growth', () => {
  it.each<[string, Partial<GrowthQuestion>, GrowthObstacle | undefined]>([
    ['pays ten hours before the end of the job', {}, undefined],
    ['pays if it gains a second more than twice its cost', { horizonSeconds: 541 }, undefined],
    ['does not pay if it gains twice its cost', { horizonSeconds: 540 }, 'DoesNotPay'],
    ['does not pay shortly before the end', { horizonSeconds: 0 }, 'DoesNotPay'],
    ['pays for less if the step gets less faster', { horizonSeconds: 541, speedup: 1.9 }, 'DoesNotPay'],
    ['is worth its GPUs if each adds half of the speed of a present one', { speedup: 1.5 }, undefined],
    ['is not worth its GPUs if each adds less', { speedup: 1.49 }, 'LittleFaster'],
    ['is not worth its GPUs if the job gets slower', { speedup: 0.9 }, 'LittleFaster'],
    ['is not worth its GPUs if the speed is not known', { speedup: Number.NaN }, 'LittleFaster'],
    ['waits until the gang has run for ten times the cost', { ranSeconds: 2_699 }, 'ChangedRecently'],
    ['is possible from then on', { ranSeconds: 2_700 }, undefined],
    [
      'waits for a day after borrowed quota was taken back',
      { borrows: true, reclaimedSecondsAgo: 86_399 },
      'QuotaReclaimed',
    ],
    ['is possible after that day', { borrows: true, reclaimedSecondsAgo: 86_400 }, undefined],
    ['is possible at once on quota of its own', { borrows: false, reclaimedSecondsAgo: 60 }, undefined],
    [
      'names what lasts longest, if several conditions hold',
      { borrows: true, reclaimedSecondsAgo: 60, speedup: 1, horizonSeconds: 0, ranSeconds: 0 },
      'QuotaReclaimed',
    ],
  ])('%s', (_what, changes, expected) => {
    expect(growthObstacle({ ...PAYS, ...changes })).toBe(expected);
  });

  const questions = fc.record({
    fromGpus: fc.integer({ min: 1, max: 512 }),
    more: fc.integer({ min: 1, max: 512 }),
    speedup: fc.double({ min: 0.5, max: 8, noNaN: true }),
    costSeconds: fc.integer({ min: 1, max: 3_600 }),
    horizonSeconds: fc.integer({ min: 0, max: 1_000_000 }),
    ranSeconds: fc.integer({ min: 0, max: 100_000 }),
  });

  it('that happens gains more than it costs, also if it is undone once', () => {
    fc.assert(
      fc.property(questions, ({ more, ...rest }) => {
        const question = { ...rest, toGpus: rest.fromGpus + more, borrows: false };
        if (growthObstacle(question) !== undefined) return;
        const { horizonSeconds, speedup, costSeconds } = question;
        // Work of the horizon at the old speed, against the larger size for what two changes leave of it.
        expect(horizonSeconds * speedup - horizonSeconds).toBeGreaterThan(2 * costSeconds);
      }),
    );
  });

  it('that pays also pays if it lasts longer, costs less or is faster', () => {
    fc.assert(
      fc.property(questions, fc.integer({ min: 1, max: 1_000 }), ({ more, ...rest }, extra) => {
        const question = { ...rest, toGpus: rest.fromGpus + more, borrows: false };
        if (growthObstacle(question) !== undefined) return;
        expect(
          growthObstacle({
            ...question,
            horizonSeconds: question.horizonSeconds + extra,
            costSeconds: question.costSeconds / 2,
            speedup: question.speedup * 1.1,
          }),
        ).toBeUndefined();
      }),
    );
  });
});

describe('the wait before a growth', () => {
  it.each([
    ['is the floor at first', 0, 600],
    ['doubles with each growth that was undone', 3, 4_800],
    ['is at most 32 times the floor', 9, 19_200],
  ])('%s', (_what, undone, seconds) => {
    expect(growthWaitMs(600_000, undone)).toBe(seconds * 1_000);
  });
});

describe('the wait of a job that lost a node, before it asks for fewer GPUs', () => {
  it.each([
    ['is the floor if it never waited for nodes', {}, 120],
    ['is the floor if nodes usually return after an hour', { returnSeconds: HOUR }, 120],
    [
      'is twice the usual time if nodes return after five minutes, which costs less than two changes',
      { returnSeconds: 300 },
      600,
    ],
    ['is never below the floor', { returnSeconds: 10 }, 120],
    ['is longer if the job is slow on fewer GPUs', { returnSeconds: 900, speed: 0.5 }, 1_800],
  ])('%s', (_what, changes, seconds) => {
    expect(shrinkWaitMs({ speed: 0.9, costSeconds: 270, floorMs: 120_000, ...changes })).toBe(seconds * 1_000);
  });
});
