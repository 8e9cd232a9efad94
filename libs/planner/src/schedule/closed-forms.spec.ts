import { SCHEDULES, type Schedule } from '../facts.ts';
import { anEvenSchedule, aScheduleOf, usualChunks } from '../testing/schedule-inputs.ts';
import { makespanOf } from './makespan.ts';
import type { ScheduleInput } from './schedule-input.ts';
import { simulateSchedule } from './simulate.ts';

/** Seconds of every stage; what is not given takes no time. */
function stages(
  schedule: Schedule,
  microBatches: number,
  times: {
    readonly forwardS: readonly number[];
    readonly backwardS: readonly number[];
    readonly hopS?: readonly number[];
  },
): ScheduleInput {
  const chunks = usualChunks(schedule);
  const count = times.forwardS.length;
  const hopS = Float64Array.from(times.hopS ?? new Array<number>(count).fill(0));
  return {
    schedule,
    pipeline: count / chunks,
    chunks,
    microBatches,
    forwardS: Float64Array.from(times.forwardS),
    backwardInputS: Float64Array.from(times.backwardS),
    backwardWeightS: new Float64Array(count),
    forwardHopS: hopS,
    backwardHopS: hopS,
    p2p: 'overlapped',
  };
}

const PROFILE = { forwardS: 1, backwardInputS: 1.25, backwardWeightS: 0.75, hopS: 0 };

describe('even stages, messages that take no time', () => {
  it.each<[string, Schedule, readonly [ranks: number, chunks: number, microBatches: number], number]>([
    ['GPipe: (m + p - 1) (f + b) (1811.06965, section 2.3)', 'gpipe', [4, 1, 8], (8 + 4 - 1) * (1 + 2)],
    ['1F1B: (m + p - 1) (f + b) (2104.04473, section 2.1)', '1f1b', [4, 1, 8], (8 + 4 - 1) * (1 + 2)],
    ['with fewer micro-batches than ranks too', '1f1b', [8, 1, 3], (3 + 8 - 1) * (1 + 2)],
    [
      'interleaved: m (f + b) + (p - 1) (f + b) / v (2104.04473, section 2.2)',
      'interleaved-1f1b',
      [4, 2, 8],
      8 * 3 + (3 * 3) / 2,
    ],
    ['with more chunks', 'interleaved-1f1b', [8, 4, 32], 32 * 3 + (7 * 3) / 4],
    ['one micro-batch goes down and up', 'gpipe', [6, 1, 1], 6 * 3],
    [
      'ZB-H1: m (f + b + w) + (p - 1) (f + b - w) (2401.10241, table 1)',
      'zb-h1',
      [4, 1, 12],
      12 * 3 + 3 * (1 + 1.25 - 0.75),
    ],
    ['on more ranks', 'zb-h1', [8, 1, 24], 24 * 3 + 7 * (1 + 1.25 - 0.75)],
  ])('%s', (_, schedule, [pipeline, chunks, microBatches], wantS) => {
    expect(makespanOf(aScheduleOf({ schedule, pipeline, chunks, microBatches }, PROFILE))).toBeCloseTo(wantS, 9);
  });
});

describe('ZB-2p, which places weight passes where it would idle', () => {
  it.each([4, 8, 16])(
    'on %d ranks takes at most 1.2 %% more than ZB-H2: m (f + b + w) + (p - 1) (f + b - 2 w) (2401.10241, table 1)',
    (pipeline) => {
      const microBatches = 3 * pipeline;
      const takenS = makespanOf(aScheduleOf({ schedule: 'zb-2p', pipeline, chunks: 1, microBatches }, PROFILE));
      expect(takenS).toBeLessThan(1.012 * (microBatches * 3 + (pipeline - 1) * (1 + 1.25 - 2 * 0.75)));
      expect(takenS).toBeGreaterThan(microBatches * 3);
    },
  );
});

describe('uneven stages', () => {
  it.each<[string, ScheduleInput, number]>([
    [
      'GPipe waits for the slowest forward m - 1 times and for the slowest backward m - 1 times',
      stages('gpipe', 5, { forwardS: [1, 3, 2], backwardS: [2, 2, 7] }),
      1 + 3 + 2 + (2 + 2 + 7) + 4 * 3 + 4 * 7,
    ],
    [
      '1F1B runs at the pace of its slowest stage, behind the way down to it and before the way up',
      stages('1f1b', 6, { forwardS: [1, 1, 4, 1], backwardS: [2, 2, 8, 2] }),
      1 + 1 + 6 * (4 + 8) + 2 + 2,
    ],
    [
      'a slow last stage is fed on time',
      stages('1f1b', 6, { forwardS: [1, 1, 1, 4], backwardS: [2, 2, 2, 8] }),
      3 * 1 + 6 * (4 + 8) + 3 * 2,
    ],
    [
      'a slow first stage never waits but for the one gradient that comes last',
      stages('1f1b', 6, { forwardS: [4, 1, 1, 1], backwardS: [8, 2, 2, 2] }),
      6 * (4 + 8),
    ],
    [
      'two micro-batches on two ranks by hand: F0 F1 B0 B1 above F0 B0 F1 B1',
      stages('1f1b', 2, { forwardS: [3, 1], backwardS: [5, 2] }),
      // Rank 1: F0 3-4, B0 4-6, F1 6-7, B1 7-9. Rank 0: F0 0-3, F1 3-6, B0 6-11, B1 11-16.
      16,
    ],
    [
      'V-shaped: the first rank has both ends, so one micro-batch passes every rank twice',
      stages('v-half', 1, { forwardS: [1, 2, 3, 4], backwardS: [5, 6, 7, 8] }),
      1 + 2 + 3 + 4 + (5 + 6 + 7 + 8),
    ],
  ])('%s', (_, input, wantS) => {
    expect(makespanOf(input)).toBeCloseTo(wantS, 9);
    expect(simulateSchedule(input).makespanS).toBeCloseTo(wantS, 9);
  });
});

describe('messages', () => {
  const one = { forwardS: [1, 1, 1], backwardS: [2, 2, 2], hopS: [0.5, 0.25, 9] };

  it.each(SCHEDULES.filter((schedule) => usualChunks(schedule) === 1).map((schedule) => [schedule]))(
    '%s carries one micro-batch over every link twice, and over none behind the last stage',
    (schedule) => {
      expect(makespanOf(stages(schedule, 1, one))).toBeCloseTo(3 * 1 + 3 * 2 + 2 * (0.5 + 0.25), 9);
    },
  );

  it.each<[Schedule, number]>([
    ['zbv', 2 * 0.5 + 2 * 0.125],
    ['interleaved-1f1b', 2 * 0.5 + 2 * 8 + 2 * 0.125],
  ])('%s pays for the link at the turn only where another rank stands behind it', (schedule, hopsS) => {
    const four = { forwardS: [1, 1, 1, 1], backwardS: [2, 2, 2, 2], hopS: [0.5, 8, 0.125, 9] };
    expect(makespanOf(stages(schedule, 1, four))).toBeCloseTo(4 * 1 + 4 * 2 + hopsS, 9);
  });

  it('that block keep the sender: two ranks, two micro-batches by hand', () => {
    const input = stages('1f1b', 2, { forwardS: [1, 1], backwardS: [2, 2], hopS: [1, 0] });
    // Overlapped. Rank 0: F0 0-1, F1 1-2. Rank 1: F0 2-3, B0 3-5, F1 5-6, B1 6-8. Rank 0: B0 6-8, B1 9-11.
    expect(makespanOf(input)).toBe(11);
    // Blocking. Rank 0 sends until 2, F1 2-3, sends until 4. Rank 1: F0 2-3, B0 3-5, sends until 6, F1 6-7, B1 7-9, sends until 10. B1 10-12.
    expect(makespanOf({ ...input, p2p: 'blocking' })).toBe(12);
  });

  it('never make a fused schedule faster by blocking', () => {
    for (const schedule of ['gpipe', '1f1b', 'interleaved-1f1b'] as const) {
      const shape = { schedule, pipeline: 4, chunks: usualChunks(schedule), microBatches: 16 };
      const profile = { forwardS: 1, backwardInputS: 1, backwardWeightS: 1, hopS: 0.2 };
      const overlapped = aScheduleOf(shape, profile);
      expect(makespanOf({ ...overlapped, p2p: 'blocking' })).toBeGreaterThan(makespanOf(overlapped));
    }
  });
});

describe('what a schedule is chosen for', () => {
  const timeOf = (schedule: Schedule, pipeline = 8, microBatches = 32) =>
    makespanOf(anEvenSchedule({ schedule, pipeline, chunks: usualChunks(schedule), microBatches }));

  it.each<[Schedule, Schedule]>([
    ['interleaved-1f1b', '1f1b'],
    ['zb-h1', '1f1b'],
    ['zb-2p', 'zb-h1'],
    ['v-half', '1f1b'],
    ['v-min', '1f1b'],
    ['zbv', 'v-half'],
    ['v-half', 'v-min'],
    ['dualpipe-v', '1f1b'],
  ])('%s idles less than %s', (fast, slow) => {
    expect(timeOf(fast)).toBeLessThan(timeOf(slow));
  });

  it('scales with the unit of time', () => {
    for (const schedule of SCHEDULES) {
      const shape = { schedule, pipeline: 4, chunks: usualChunks(schedule), microBatches: 12 };
      const slow = { forwardS: 3, backwardInputS: 3, backwardWeightS: 3, hopS: 0 };
      expect(makespanOf(aScheduleOf(shape, slow))).toBeCloseTo(3 * timeOf(schedule, 4, 12), 6);
    }
  });

  it.each(SCHEDULES.map((schedule) => [schedule]))(
    '%s loses a smaller share the more micro-batches there are',
    (schedule) => {
      const idleShare = (microBatches: number) => timeOf(schedule, 4, microBatches) / (3 * microBatches) - 1;
      expect(idleShare(64)).toBeLessThanOrEqual(idleShare(16) + 1e-12);
      expect(idleShare(256)).toBeLessThan(0.03);
    },
  );
});
