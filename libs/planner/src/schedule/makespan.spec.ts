import fc from 'fast-check';
import type { Schedule } from '../facts.ts';
import { anEvenSchedule, aScheduleOf, bubbleOver, scheduleInputs, usualChunks } from '../testing/schedule-inputs.ts';
import { interleavedMakespan } from './interleaved-makespan.ts';
import { makespanLowerBound } from './makespan-bound.ts';
import { makespanOf } from './makespan.ts';
import { oneForwardOneBackwardMakespan } from './one-chunk-makespan.ts';
import { newScheduleScratch } from './schedule-scratch.ts';
import { simulateSchedule } from './simulate.ts';

const NUM_RUNS = 250;

describe('makespanOf', () => {
  it.each([
    ['1f1b', 1, 0.1094],
    ['interleaved-1f1b', 2, 0.0547],
  ] as const)('%s with %d chunks on 8 ranks idles %d of 64 micro-batches', (schedule, chunks, share) => {
    const input = anEvenSchedule({ schedule, pipeline: 8, chunks, microBatches: 64 });
    expect(bubbleOver(3 * 64, makespanOf(input))).toBeCloseTo(share, 4);
  });

  it.each([
    ['gpipe', 4, 8],
    ['1f1b', 4, 8],
    ['1f1b', 8, 3],
    ['gpipe', 8, 1],
  ] as const)('%s on %d ranks takes (m + p - 1)(f + b) for m = %d', (schedule, pipeline, microBatches) => {
    const input = anEvenSchedule({ schedule, pipeline, chunks: 1, microBatches });
    expect(makespanOf(input)).toBeCloseTo(3 * (microBatches + pipeline - 1));
  });

  it.each<[Schedule, number]>([
    ['zb-h1', 1 / 3],
    ['zb-2p', 0],
    ['zbv', 0],
    ['v-half', 1 / 2],
    ['dualpipe-v', 1 / 3],
  ])('%s idles %d of the bubble of 1F1B where all passes take equally long', (schedule, share) => {
    for (const pipeline of [2, 4, 8, 16, 32]) {
      const microBatches = 4 * pipeline;
      const input = anEvenSchedule({ schedule, pipeline, chunks: usualChunks(schedule), microBatches });
      expect(makespanOf(input) - 3 * microBatches).toBeCloseTo(share * 3 * (pipeline - 1));
    }
  });

  it('v-min idles about two thirds of the bubble of 1F1B where all passes take equally long', () => {
    for (const pipeline of [8, 16, 32, 64]) {
      const microBatches = 4 * pipeline;
      const input = anEvenSchedule({ schedule: 'v-min', pipeline, chunks: 2, microBatches });
      expect(Math.abs((makespanOf(input) - 3 * microBatches) / (3 * (pipeline - 1)) - 2 / 3)).toBeLessThan(0.03);
    }
  });

  const profiles = {
    small: { forwardS: 18.522, backwardInputS: 18.086, backwardWeightS: 9.337, hopS: 0.601 },
    large: { forwardS: 10.402, backwardInputS: 10.248, backwardWeightS: 7.698, hopS: 0.46 },
  };

  it.each<[Schedule, 'small' | 'large', number, number]>([
    ['1f1b', 'small', 1, 0.243],
    ['interleaved-1f1b', 'small', 3, 0.106],
    ['zb-h1', 'small', 1, 0.159],
    ['zb-2p', 'small', 1, 0.043],
    ['1f1b', 'large', 1, 0.135],
    ['interleaved-1f1b', 'large', 2, 0.062],
    ['zb-h1', 'large', 1, 0.059],
    ['zb-2p', 'large', 1, 0.002],
  ])(
    '%s with the %s profile and %d chunks idles the published %d (2401.10241, Tables 5 and 8)',
    (schedule, size, chunks, share) => {
      const [pipeline, microBatches] = size === 'small' ? [8, 24] : [32, 256];
      const profile = profiles[size];
      const input = aScheduleOf({ schedule, pipeline, chunks, microBatches }, profile);
      const makespanS = makespanOf({ ...input, weightShare: 0.375 });
      const computationS = microBatches * (profile.forwardS + profile.backwardInputS + profile.backwardWeightS);
      expect(Math.abs(1 - computationS / makespanS - share)).toBeLessThan(0.0035);
    },
  );

  it.each([
    [96, 1.232],
    [256, 1.116],
  ])(
    'zbv beats 1f1b on 32 ranks and %d micro-batches by the measured %d (2401.10241, Table 6)',
    (microBatches, speedUp) => {
      const shape = { pipeline: 32, microBatches };
      const baselineS = makespanOf(aScheduleOf({ ...shape, schedule: '1f1b', chunks: 1 }, profiles.large));
      const makespanS = makespanOf(aScheduleOf({ ...shape, schedule: 'zbv', chunks: 2 }, profiles.large));
      expect(Math.abs(baselineS / makespanS / speedUp - 1)).toBeLessThan(0.01);
    },
  );

  it('without a pipeline adds up the passes of all chunks', () => {
    const input = anEvenSchedule({ schedule: 'interleaved-1f1b', pipeline: 1, chunks: 4, microBatches: 5 });
    expect(makespanOf(input)).toBeCloseTo(15);
  });

  it('equals the full simulation, whatever the schedule, its stages and its links', () => {
    const scratch = newScheduleScratch();
    fc.assert(
      fc.property(scheduleInputs, (input) => {
        expect(makespanOf(input, scratch)).toBeCloseTo(simulateSchedule(input, undefined, scratch.cache).makespanS, 6);
      }),
      { numRuns: NUM_RUNS },
    );
  });

  it('skips whole periods without changing the result', () => {
    const scratch = newScheduleScratch();
    fc.assert(
      fc.property(scheduleInputs, fc.integer({ min: 1, max: 400 }), (even, microBatches) => {
        fc.pre(even.pipeline > 1);
        const input = { ...even, microBatches };
        expect(interleavedMakespan(input, scratch)).toBeCloseTo(interleavedMakespan(input, scratch, false), 6);
        expect(oneForwardOneBackwardMakespan(input, scratch)).toBeCloseTo(
          oneForwardOneBackwardMakespan(input, scratch, false),
          6,
        );
      }),
      { numRuns: NUM_RUNS },
    );
  });

  it.each<[Schedule, number]>([
    ['1f1b', 1],
    ['interleaved-1f1b', 3],
  ])('%s with %d chunks looks at no more passes for a hundred times the micro-batches', (schedule, chunks) => {
    const readsFor = (microBatches: number) => {
      let reads = 0;
      const input = anEvenSchedule({ schedule, pipeline: 4, chunks, microBatches });
      const forwardS = new Proxy(input.forwardS, {
        get: (times, key) => {
          reads++;
          return Reflect.get(times, key, times) as unknown;
        },
      });
      makespanOf({ ...input, forwardS });
      return reads;
    };
    expect(readsFor(6_400)).toBeLessThan(1.1 * readsFor(64));
  });

  it('grows with every time, where the backward pass is fused', () => {
    const fused = scheduleInputs.filter(({ schedule }) => ['gpipe', '1f1b', 'interleaved-1f1b'].includes(schedule));
    fc.assert(
      fc.property(fused, fc.nat(), (input, which) => {
        const slower = Float64Array.from(input.forwardS);
        const stage = which % slower.length;
        slower[stage] = (slower[stage] ?? 0) + 1;
        expect(makespanOf({ ...input, forwardS: slower })).toBeGreaterThanOrEqual(makespanOf(input) - 1e-9);
      }),
      { numRuns: NUM_RUNS },
    );
  });

  it('refuses a schedule with the wrong number of chunks and says which is right', () => {
    const input = anEvenSchedule({ schedule: 'zbv', pipeline: 4, chunks: 1, microBatches: 8 });
    expect(() => makespanOf(input)).toThrow('schedule zbv runs with chunks 2 per rank, got 1: set chunks to 2');
  });

  it('refuses times that do not cover every stage', () => {
    const input = anEvenSchedule({ schedule: '1f1b', pipeline: 4, chunks: 1, microBatches: 8 });
    expect(() => makespanOf({ ...input, forwardS: new Float64Array(3) })).toThrow('forwardS has 3 entries');
  });
});

describe('makespanLowerBound', () => {
  it('is never above the makespan', () => {
    fc.assert(
      fc.property(scheduleInputs, (input) => {
        expect(makespanLowerBound(input)).toBeLessThanOrEqual(makespanOf(input) + 1e-9);
      }),
      { numRuns: NUM_RUNS },
    );
  });

  it.each<[Schedule, number]>([
    ['gpipe', 1],
    ['1f1b', 1],
    ['interleaved-1f1b', 4],
  ])('is exact for even stages of %s with %d chunks', (schedule, chunks) => {
    const input = anEvenSchedule({ schedule, pipeline: 8, chunks, microBatches: 16 });
    expect(makespanLowerBound(input)).toBeCloseTo(makespanOf(input));
  });
});
