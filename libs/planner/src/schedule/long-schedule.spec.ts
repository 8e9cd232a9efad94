import type { Schedule } from '../facts.ts';
import { usualChunks } from '../testing/schedule-inputs.ts';
import { boundOfLong, makespanOfLong, MOST_PER_RANK } from './long-schedule.ts';
import { makespanLowerBound, waitingMakespanBound } from './makespan-bound.ts';
import { makespanOf } from './makespan.ts';
import { rankOrdersOf } from './rank-orders.ts';
import { runSchedule } from './run-schedule.ts';
import type { ScheduleInput } from './schedule-input.ts';
import { newScheduleScratch } from './schedule-scratch.ts';

const SCHEDULES = ['zb-h1', 'zb-2p', 'zbv', 'v-half', 'v-min', 'dualpipe-v'] as const;

/** Stages that differ by up to `spread`, the same on every run; the first and the last also hold embedding and output. */
function uneven(schedule: Schedule, pipeline: number, { microBatches = 0, spread = 0, hop = 0 }): ScheduleInput {
  const chunks = usualChunks(schedule);
  const times = (length: number, valueS: number): Float64Array =>
    Float64Array.from({ length }, (_, index) => valueS * (1 + spread * (((index * 7919) % 101) / 101)));
  const stages = pipeline * chunks;
  return {
    ...{ schedule, pipeline, chunks, microBatches },
    forwardS: times(stages, 0.01),
    backwardInputS: times(stages, 0.011),
    backwardWeightS: times(stages, 0.009),
    forwardHopS: times(stages, hop),
    backwardHopS: times(stages, hop),
    p2p: 'overlapped',
  };
}

describe('the makespan of very many micro-batches', () => {
  const shapes = SCHEDULES.flatMap((schedule) =>
    [4, 12].flatMap((pipeline) =>
      [
        { what: 'equal stages', spread: 0, hop: 0 },
        { what: 'uneven stages', spread: 0.2, hop: 0.0002 },
        { what: 'slow messages', spread: 0.05, hop: 0.004 },
      ].map((times) => ({ schedule, pipeline, ...times })),
    ),
  );

  it.each(shapes)(
    '$schedule on $pipeline ranks with $what is that of the whole simulation within 0.2 %',
    ({ schedule, pipeline, spread, hop }) => {
      const input = uneven(schedule, pipeline, { microBatches: 9 * MOST_PER_RANK * pipeline + 5, spread, hop });
      const scratch = newScheduleScratch();
      const simulate = (simulated: ScheduleInput, mostS: number): number =>
        runSchedule(simulated, rankOrdersOf(simulated, scratch.cache), scratch.run, { mostS });
      const wholeS = simulate(input, Infinity);
      const foundS = makespanOfLong(input, Infinity, simulate);
      expect(Math.abs(foundS / wholeS - 1)).toBeLessThan(2e-3);
      const boundS = boundOfLong(input, (followed) => waitingMakespanBound(followed, new Map()));
      expect(Math.max(makespanLowerBound(input), boundS) / foundS).toBeLessThan(1 + 1e-9);
      // A search asks whether it is longer than the best so far.
      expect(makespanOfLong(input, 1.01 * foundS, simulate)).toBe(foundS);
      const shortS = makespanOfLong(input, 0.99 * foundS, simulate);
      expect([shortS >= 0.99 * foundS, shortS <= foundS * (1 + 1e-9)]).toEqual([true, true]);
    },
  );

  it('needs buffers for few of them', () => {
    const scratch = newScheduleScratch();
    makespanOf(uneven('v-half', 64, { microBatches: 65_536, spread: 0.1 }), scratch);
    expect(scratch.cache.passes).toBeLessThan(64 * 2 * 3 * 2 * MOST_PER_RANK * 64);
  });
});
