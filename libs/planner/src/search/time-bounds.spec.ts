import fc from 'fast-check';
import type { CandidateLayout, Schedule } from '../facts.ts';
import { makespanOf } from '../schedule/makespan.ts';
import { newScheduleScratch } from '../schedule/schedule-scratch.ts';
import { anEvenSchedule } from '../testing/schedule-inputs.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from '../time/constants.ts';
import { searchedRunOf } from './searched-run.ts';
import { TimeBounds } from './time-bounds.ts';
import type { BusySeconds, PassSeconds } from './layout-costs.ts';

const START = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
  TimeConstantName,
  number
>;
const PLAIN: TimeConstants = { ...START, stageImbalance: 0, jitterPerDoubling: 0, stepOverheadS: 0 };

interface Asked {
  readonly constants?: Partial<TimeConstants>;
  readonly gpus?: number;
  /** Relative to the first island's. */
  readonly speeds?: readonly number[];
}
/** Bounds for `aModel` of 8 layers and batches of 16. */
function boundsOf({ constants = {}, gpus = 8, speeds = [] }: Asked = {}): TimeBounds {
  const islands = speeds.map((relativeSpeed) => ({
    gpus: 4,
    relativeSpeed,
    scaleOutGbPerS: 50,
    nicKind: 'infiniband' as const,
  }));
  const cluster = aCluster(gpus, islands.length === 0 ? {} : { islands });
  return new TimeBounds(searchedRunOf(aRun({ model: aModel(), cluster }), { ...PLAIN, ...constants }));
}

/** Eight layers of 10 s, one of which returns after 5 s, unless told otherwise. */
const busy = (over: Partial<BusySeconds> = {}): BusySeconds => ({
  totalS: 80,
  roundTripS: 50,
  endS: 0,
  shortestLayerS: 10,
  ...over,
});

describe('the least time of a pipeline', () => {
  it.each<[string, Partial<CandidateLayout>, Partial<BusySeconds>, Asked, number]>([
    ['16 micro-batches on 4 ranks of two layers', { pipeline: 4 }, {}, {}, 16 * 20],
    ['an equal share of layers that are longer than the shortest', { pipeline: 4 }, { totalS: 100 }, {}, 16 * 25],
    ['two whole layers on one of 5 ranks', { pipeline: 5 }, {}, {}, 16 * 20],
    ['three whole layers on one of 3 ranks', { pipeline: 3 }, {}, {}, 16 * 30],
    ['two layers and an end of 15 s on one of 3 ranks', { pipeline: 3 }, { totalS: 95, endS: 15 }, {}, 16 * 35],
    [
      'an end that is longer than all layers of another rank',
      { pipeline: 4 },
      { totalS: 180, endS: 100 },
      {},
      16 * 100,
    ],
    ['everything on one rank', {}, { totalS: 92, endS: 7 }, {}, 16 * 92],
    ['a round trip of the only micro-batch', { pipeline: 4, data: 16 }, {}, {}, 50],
    ['4 micro-batches of 2 samples in 2 replicas', { pipeline: 4, data: 2, microBatchSize: 2 }, {}, {}, 4 * 20],
    ['half of that where GPUs may be twice as fast', { pipeline: 4 }, {}, { speeds: [1, 2] }, 16 * 10],
    ['all of it where others are slower', { pipeline: 4 }, {}, { speeds: [1, 0.5] }, 16 * 20],
    [
      '5 % more for each doubling of 4 ranks',
      { pipeline: 4 },
      {},
      { constants: { stageImbalance: 0.05 } },
      16 * 20 * 1.1,
    ],
  ])('is %s', (_sentence, ...row) => {
    const [layout, seconds, asked, want] = row;
    expect(boundsOf(asked).leastPipelineS(aCandidate(layout), busy(seconds))).toBeCloseTo(want, 9);
  });

  it.each<[string, Schedule, Partial<CandidateLayout>, Asked, number]>([
    ['1F1B with one micro-batch: it passes all ranks', '1f1b', { pipeline: 4, data: 16 }, {}, 80],
    ['1F1B with two on 2 ranks', '1f1b', { pipeline: 2, data: 8 }, {}, 80 / (1 - 1 / 4)],
    ['GPipe with 16 on 4 ranks', 'gpipe', { pipeline: 4 }, {}, 80 / (1 - (15 / 16) ** 4)],
    ['ZB-V, which divides backward passes', 'zbv', { pipeline: 4 }, {}, 16 * 20],
    ['1F1B where GPUs differ', '1f1b', { pipeline: 4 }, { speeds: [1, 0.5] }, 16 * 20],
    ['1F1B on one rank', '1f1b', {}, {}, 16 * 80],
  ])('is that of %s', (_sentence, ...row) => {
    const [schedule, layout, asked, want] = row;
    expect(boundsOf(asked).leastScheduleS(aCandidate(layout), schedule, busy())).toBeCloseTo(want, 9);
  });

  it('is never above what 1F1B or GPipe take, however the work is shared among ranks', () => {
    const shares = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 6 });
    const schedules = fc.constantFrom('1f1b' as const, 'gpipe' as const);
    fc.assert(
      fc.property(shares, schedules, fc.constantFrom(1, 2, 4, 8, 16), (ranks, schedule, data) => {
        const pipeline = ranks.length;
        const each = Float64Array.from(ranks);
        const input = anEvenSchedule(
          { schedule, pipeline, chunks: 1, microBatches: 16 / data },
          { forwardS: each, backwardInputS: each, backwardWeightS: each },
        );
        const totalS = 3 * ranks.reduce((sum, share) => sum + share, 0);
        const seconds = { totalS, roundTripS: (totalS * 2) / 3, endS: 0, shortestLayerS: 0 };
        const leastS = boundsOf().leastScheduleS(aCandidate({ pipeline, data }), schedule, seconds);
        expect(leastS).toBeLessThanOrEqual(makespanOf(input, newScheduleScratch()) * (1 + 1e-9));
      }),
      { numRuns: 300 },
    );
  });
});

describe('the least time of a step', () => {
  it('waits for the slowest of 8 nodes and adds what every step takes', () => {
    const bounds = boundsOf({ gpus: 64, constants: { jitterPerDoubling: 0.01, stepOverheadS: 0.5 } });
    expect(bounds.stepS(100)).toBeCloseTo(100 * 1.03 + 0.5, 6);
  });
});

describe('the least transfers', () => {
  const whole: PassSeconds = { ...busy(), forwardS: 30, backwardS: 50 };
  it('are none on one rank, and not fewer on more of them', () => {
    const transferS = (data: number): number => boundsOf({ gpus: 64 }).leastTransferS(aCandidate({ data }), whole);
    const seconds = [1, 2, 4, 8, 16, 64].map(transferS);
    expect(seconds[0]).toBe(0);
    expect(seconds[1]).toBeGreaterThan(0);
    expect([...seconds].sort((a, b) => a - b)).toEqual(seconds);
  });

  it('are those of ZeRO-1 for all stages below 3, because stage 0 returns wider gradients', () => {
    const bounds = boundsOf();
    const stages = ([0, 1, 2, 3] as const).map(
      (zeroStage) => bounds.fewestTransfers(aCandidate({ zeroStage })).candidate.zeroStage,
    );
    expect(stages).toEqual([1, 1, 1, 3]);
  });

  it('gather weights for each pass where they are fully sharded, and never otherwise', () => {
    const bounds = boundsOf();
    expect(bounds.withGathers(aCandidate({ data: 8, zeroStage: 2 }), whole)).toBe(whole);
    const gathering = bounds.withGathers(aCandidate({ data: 8, zeroStage: 3 }), whole);
    expect(gathering.totalS).toBeGreaterThan(whole.totalS);
    expect(gathering.totalS - whole.totalS).toBeCloseTo(gathering.roundTripS - whole.roundTripS, 9);
  });
});
