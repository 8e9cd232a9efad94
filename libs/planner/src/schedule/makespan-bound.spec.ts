import { SCHEDULES, type Schedule } from '../facts.ts';
import { anEvenSchedule, aScheduleOf, usualChunks } from '../testing/schedule-inputs.ts';
import { waitingMakespanBound, makespanLowerBound } from './makespan-bound.ts';
import { makespanOf } from './makespan.ts';
import type { ScheduleInput } from './schedule-input.ts';

const evenOf = (schedule: Schedule, pipeline: number, microBatches: number): ScheduleInput =>
  anEvenSchedule({ schedule, pipeline, chunks: usualChunks(schedule), microBatches });

const FUSED: readonly Schedule[] = ['gpipe', '1f1b', 'interleaved-1f1b'];
const SPLIT = SCHEDULES.filter((schedule) => !FUSED.includes(schedule));

describe('makespanLowerBound', () => {
  it.each<[string, Schedule, number]>([
    ['1F1B: all passes of the last rank behind the way down, before the way up', '1f1b', 8 * 3 + 3 * 3],
    ['interleaved: the same over one chunk of each rank', 'interleaved-1f1b', 8 * 3 + (3 * 3) / 2],
    // Round trip of 4 F and 3 B less what four micro-batches in flight fill: 7 - 4 * 1 idle seconds.
    ['ZB-H1: the first rank waits for its first gradient', 'zb-h1', 8 * 3 + (7 - 4)],
    ['ZB-2p: eight micro-batches in flight fill the round trip', 'zb-2p', 8 * 3],
    ['ZB-V: so do the two chunks of a V', 'zbv', 8 * 3],
    ['DualPipeV: and nine of its', 'dualpipe-v', 8 * 3],
  ])('%s, on 4 ranks with 8 micro-batches of one second each', (_, schedule, wantS) => {
    expect(makespanLowerBound(evenOf(schedule, 4, 8))).toBeCloseTo(wantS, 9);
  });

  it('looks at the busiest rank, wherever it stands', () => {
    for (const slow of [0, 1, 2, 3]) {
      const input = evenOf('1f1b', 4, 8);
      input.backwardInputS[slow] = 5;
      expect(makespanLowerBound(input)).toBeCloseTo(slow * 3 + 8 * (5 + 2), 9);
    }
  });

  it('is exact where the last rank is the busiest', () => {
    const input = evenOf('1f1b', 4, 8);
    input.backwardInputS[3] = 5;
    expect(makespanOf(input)).toBeCloseTo(3 * 3 + 8 * (5 + 2), 9);
  });

  it('adds both stages that a rank of a V holds', () => {
    const input = evenOf('zbv', 4, 8);
    input.forwardS[6] = 5; // the second chunk of rank 1
    expect(makespanLowerBound(input)).toBeGreaterThanOrEqual(8 * (1.5 + 5 + 0.5 + 0.5));
  });

  it('counts the messages down to a rank and up again', () => {
    const profile = { forwardS: 1, backwardInputS: 1, backwardWeightS: 1, hopS: 0.5 };
    const input = aScheduleOf({ schedule: 'gpipe', pipeline: 4, chunks: 1, microBatches: 8 }, profile);
    expect(makespanLowerBound(input)).toBeCloseTo(8 * 3 + 3 * 3 + 3 * (0.5 + 0.5), 9);
  });

  it('is m round trips over those in flight where links are slower than passes', () => {
    const profile = { forwardS: 1, backwardInputS: 1, backwardWeightS: 1, hopS: 100 };
    const input = aScheduleOf({ schedule: 'zb-h1', pipeline: 2, chunks: 1, microBatches: 40 }, profile);
    // Two in flight, away from the first rank for two hops, a forward and a backward of the second rank, and a backward of its own.
    expect(makespanLowerBound(input)).toBeCloseTo((40 * (1 + 1 + 100 + 100)) / 2, 9);
  });

  it('of a single rank is all it computes', () => {
    for (const schedule of SCHEDULES) expect(makespanLowerBound(evenOf(schedule, 1, 8))).toBeCloseTo(24, 9);
  });
});

describe('waitingMakespanBound', () => {
  it.each(FUSED.map((schedule) => [schedule]))('has nothing to add for %s', (schedule) => {
    expect(waitingMakespanBound(evenOf(schedule, 4, 8), new Map())).toBe(0);
  });

  it('has nothing to add without a pipeline', () => {
    expect(waitingMakespanBound(evenOf('zbv', 1, 8), new Map())).toBe(0);
  });

  it('runs the first rank of ZB-H1 in its own order', () => {
    // F F F F, wait until 4 F and 3 B are over, then B W F in turn: 4 + 3 + 3 * 8 - 4 + ... ends with the last weight pass.
    expect(waitingMakespanBound(evenOf('zb-h1', 4, 8), new Map())).toBeCloseTo(8 * 3 + 3, 9);
  });

  it.each<[Schedule, number]>([
    ['zb-h1', 0.001],
    ['zb-2p', 0.001],
    ['zbv', 0.001],
    ['v-half', 0.05],
    ['v-min', 0.001],
    ['dualpipe-v', 0.07],
  ])('of %s is within %d of the makespan of even stages on 8 ranks', (schedule, share) => {
    const input = evenOf(schedule, 8, 32);
    const makespanS = makespanOf(input);
    expect(waitingMakespanBound(input, new Map())).toBeGreaterThan((1 - share) * makespanS);
  });

  it('adds what V-Half idles before its first micro-batch is back, which no weight pass can fill', () => {
    // Stages of half a second a pass: two forwards run while the first is away over six stages.
    expect(waitingMakespanBound(evenOf('v-half', 4, 8), new Map())).toBeCloseTo(8 * 3 + (0.5 + 6 * 0.5 - 2 * 0.5), 9);
  });

  it('asks the busiest rank as well, wherever it stands', () => {
    const input = evenOf('zb-h1', 4, 8);
    input.backwardInputS[2] = 3;
    // Rank 2 runs two forwards before its first gradient is back from the last rank, after three seconds.
    expect(waitingMakespanBound(input, new Map())).toBeCloseTo(8 * 5 + (3 - 2), 9);
  });

  it('adds nothing of what weight passes may fill', () => {
    expect(waitingMakespanBound(evenOf('zb-2p', 4, 8), new Map())).toBeCloseTo(8 * 3, 9);
  });

  it.each(SPLIT.map((schedule) => [schedule]))(
    'keeps the order of %s by shape, and the answer does not depend on it',
    (schedule) => {
      const orders = new Map();
      const first = waitingMakespanBound(evenOf(schedule, 4, 8), orders);
      expect(orders.size).toBe(1);
      const slower = evenOf(schedule, 4, 8);
      slower.forwardS.fill(2);
      expect(waitingMakespanBound(slower, orders)).toBe(waitingMakespanBound(slower, new Map()));
      expect(waitingMakespanBound(evenOf(schedule, 4, 8), orders)).toBe(first);
      waitingMakespanBound(evenOf(schedule, 4, 9), orders);
      waitingMakespanBound(evenOf(schedule, 5, 9), orders);
      expect(orders.size).toBe(3);
    },
  );
});

describe('a bound that prunes a search', () => {
  it('grows with every time of every stage', () => {
    for (const schedule of SCHEDULES) {
      const input = evenOf(schedule, 4, 8);
      const boundS = makespanLowerBound(input);
      for (const field of ['forwardS', 'backwardInputS', 'backwardWeightS'] as const) {
        for (let stage = 0; stage < input.forwardS.length; stage++) {
          const slower = { ...input, [field]: Float64Array.from(input[field]) };
          slower[field][stage] = (slower[field][stage] ?? 0) + 10;
          expect(makespanLowerBound(slower)).toBeGreaterThan(boundS);
          expect(makespanLowerBound(slower)).toBeLessThanOrEqual(makespanOf(slower) + 1e-9);
        }
      }
    }
  });
});
