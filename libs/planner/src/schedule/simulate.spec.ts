import fc from 'fast-check';
import { SCHEDULES } from '../facts.ts';
import { rankOfStage } from '../stages.ts';
import { anEvenSchedule, scheduleInputs, usualChunks } from '../testing/schedule-inputs.ts';
import { peakInFlight } from './in-flight.ts';
import { newOrderCache } from './rank-orders.ts';
import type { ScheduleInput } from './schedule-input.ts';
import { orderOfPasses, simulateSchedule, timelineOf, type TimedPass } from './simulate.ts';

const NUM_RUNS = 100;
const ROUNDING = 1e-9;

const everySchedule = (check: (input: ScheduleInput) => void): void => {
  fc.assert(fc.property(scheduleInputs, check), { numRuns: NUM_RUNS });
};

/** Passes by what they do, of which stage and micro-batch; a fused backward does both halves. */
const byWork = (timeline: readonly TimedPass[]) => {
  const found = new Map<string, TimedPass>();
  const twice: string[] = [];
  for (const pass of timeline) {
    for (const work of pass.kind === 'backward' ? ['backward-input', 'backward-weight'] : [pass.kind]) {
      const key = `${work} ${pass.stage} ${pass.microBatch}`;
      if (found.has(key)) twice.push(key);
      found.set(key, pass);
    }
  }
  return { found, twice };
};

describe('timelineOf', () => {
  it('runs every pass once, on the rank of its stage', () => {
    everySchedule((input) => {
      const timeline = timelineOf(input);
      const { found, twice } = byWork(timeline);
      expect(twice).toEqual([]);
      expect(found.size).toBe(3 * input.pipeline * input.chunks * input.microBatches);
      expect(timeline.every(({ rank, stage }) => rank === rankOfStage(input, stage))).toBe(true);
    });
  });

  it('lets a rank do one thing at a time', () => {
    everySchedule((input) => {
      const freeAtS = new Array<number>(input.pipeline).fill(0);
      const overlapping = timelineOf(input).filter(({ rank, startS, endS }) => {
        const overlaps = startS < (freeAtS[rank] ?? 0) - ROUNDING;
        freeAtS[rank] = endS;
        return overlaps;
      });
      expect(overlapping).toEqual([]);
    });
  });

  it('starts no pass before what it needs has arrived', () => {
    everySchedule((input) => {
      const timeline = timelineOf(input);
      const { found } = byWork(timeline);
      const last = input.pipeline * input.chunks - 1;
      const endS = (work: string, stage: number, microBatch: number) =>
        found.get(`${work} ${stage} ${microBatch}`)?.endS ?? Infinity;
      const hopS = (hopsS: Float64Array, stage: number) =>
        rankOfStage(input, stage) === rankOfStage(input, stage + 1) ? 0 : (hopsS[stage] ?? 0);
      const neededAtS = ({ kind, stage, microBatch }: TimedPass) => {
        if (kind === 'backward-weight') return endS('backward-input', stage, microBatch);
        if (kind === 'forward')
          return stage === 0 ? 0 : endS('forward', stage - 1, microBatch) + hopS(input.forwardHopS, stage - 1);
        return stage === last
          ? endS('forward', stage, microBatch)
          : endS('backward-input', stage + 1, microBatch) + hopS(input.backwardHopS, stage);
      };
      expect(timeline.filter((pass) => pass.startS < neededAtS(pass) - ROUNDING)).toEqual([]);
    });
  });
});

describe('timelineOf with blocking messages', () => {
  it('keeps a rank from computing until what it sent has arrived', () => {
    everySchedule((input) => {
      const timeline = timelineOf({ ...input, p2p: 'blocking' });
      const hopS = ({ kind, stage }: TimedPass) => {
        const to = kind === 'forward' ? stage + 1 : stage - 1;
        if (kind === 'backward-weight' || to < 0 || to >= input.pipeline * input.chunks) return 0;
        if (rankOfStage(input, to) === rankOfStage(input, stage)) return 0;
        return (kind === 'forward' ? input.forwardHopS[stage] : input.backwardHopS[to]) ?? 0;
      };
      const early = timeline.filter((pass, index) => {
        const next = timeline[index + 1];
        const paired = input.schedule === 'dualpipe-v' && pass.kind === 'forward' && next?.kind === 'backward';
        return next?.rank === pass.rank && !paired && next.startS < pass.endS + hopS(pass) - ROUNDING;
      });
      expect(early).toEqual([]);
    });
  });
});

describe('simulateSchedule', () => {
  it('takes at least as long as its busiest rank computes', () => {
    everySchedule((input) => {
      const { makespanS, busyS, bubbleShare } = simulateSchedule(input);
      expect(makespanS).toBeGreaterThanOrEqual(Math.max(...busyS) - ROUNDING);
      expect(bubbleShare).toBeGreaterThanOrEqual(-ROUNDING);
      expect(bubbleShare).toBeLessThanOrEqual(1);
    });
  });

  it('computes on each rank the passes of its stages', () => {
    everySchedule((input) => {
      const expectedS = new Array<number>(input.pipeline).fill(0);
      for (let stage = 0; stage < input.pipeline * input.chunks; stage++) {
        const rank = rankOfStage(input, stage);
        const perMicroBatchS =
          (input.forwardS[stage] ?? 0) + (input.backwardInputS[stage] ?? 0) + (input.backwardWeightS[stage] ?? 0);
        expectedS[rank] = (expectedS[rank] ?? 0) + input.microBatches * perMicroBatchS;
      }
      simulateSchedule(input).busyS.forEach((busyS, rank) => expect(busyS).toBeCloseTo(expectedS[rank] ?? 0, 6));
    });
  });

  it('never holds more activations than peakInFlight says', () => {
    everySchedule((input) => {
      simulateSchedule({ ...input, weightShare: 1 }).peakInFlight.forEach((held, rank) => {
        expect(held).toBeLessThanOrEqual(peakInFlight(input, rank));
      });
    });
  });

  it('holds bytes in proportion to what its stages leave', () => {
    const input = anEvenSchedule({ schedule: '1f1b', pipeline: 4, chunks: 1, microBatches: 8 });
    const { peakActivationBytes } = simulateSchedule(input, [100, 10, 1, 1000]);
    expect(peakActivationBytes).toEqual([400, 30, 2, 1000]);
  });

  it('frees most of an activation at the input pass where weight passes need little of it', () => {
    const input = anEvenSchedule({ schedule: 'zb-h1', pipeline: 8, chunks: 1, microBatches: 32 });
    const last = (weightShare: number) => simulateSchedule({ ...input, weightShare }).peakInFlight[7] ?? 0;
    expect(last(1)).toBe(8);
    expect(last(0.25)).toBeLessThan(8);
  });

  it('does not count the staggered start as idle', () => {
    const input = anEvenSchedule({ schedule: 'zb-2p', pipeline: 8, chunks: 1, microBatches: 32 });
    expect(simulateSchedule(input).makespanS).toBe(96);
  });
});

describe('orderOfPasses', () => {
  const NAMES = { forward: 'F', backward: 'B', 'backward-input': 'B', 'backward-weight': 'W' } as const;
  const written = (rank: number, input: Parameters<typeof orderOfPasses>[0]) =>
    (orderOfPasses(input)[rank] ?? [])
      .map(({ kind, chunk, microBatch }) => {
        const name = NAMES[kind];
        return `${chunk === 0 ? name : name.toLowerCase()}${microBatch}`;
      })
      .join(' ');

  it.each([
    ['gpipe', 0, 1, 'F0 F1 F2 F3 B0 B1 B2 B3'],
    ['1f1b', 0, 1, 'F0 F1 B0 F2 B1 F3 B2 B3'],
    ['1f1b', 1, 1, 'F0 B0 F1 B1 F2 B2 F3 B3'],
    ['interleaved-1f1b', 0, 2, 'F0 F1 f0 f1 F2 b0 F3 b1 f2 B0 f3 B1 b2 b3 B2 B3'],
    ['zb-h1', 1, 1, 'F0 B0 F1 B1 W0 F2 B2 W1 F3 B3 W2 W3'],
    ['zbv', 0, 2, 'F0 F1 F2 f0 b0 w0 f1 b1 w1 F3 B0 W0 f2 b2 w2 B1 W1 f3 b3 B2 w3 B3 W2 W3'],
  ] as const)('%s on rank %d of 2 with %d chunks runs %s', (schedule, rank, chunks, order) => {
    expect(written(rank, { schedule, pipeline: 2, chunks, microBatches: 4 })).toBe(order);
  });
});

describe('every schedule', () => {
  it('runs to its end on any number of ranks, chunks and micro-batches', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SCHEDULES),
        fc.integer({ min: 1, max: 64 }),
        fc.integer({ min: 1, max: 16 }),
        fc.integer({ min: 1, max: 512 }),
        (schedule, pipeline, interleavedChunks, microBatches) => {
          const chunks = schedule === 'interleaved-1f1b' ? interleavedChunks : usualChunks(schedule);
          fc.pre(pipeline * chunks * microBatches <= 8_000);
          const input = anEvenSchedule({ schedule, pipeline, chunks, microBatches });
          const { busyS } = simulateSchedule(input, undefined, newOrderCache());
          for (const oneS of busyS) expect(oneS).toBeCloseTo(3 * microBatches, 6);
        },
      ),
      { numRuns: 60 },
    );
  });
});
