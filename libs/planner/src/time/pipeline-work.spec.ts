import type { ModelShape } from '@coxswain/layout';
import fc from 'fast-check';
import type { ClusterFacts, CandidateLayout, RunFacts, Schedule } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import type { ScheduleInput } from '../schedule/schedule-input.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { PARTS, type BlockCost } from './block-cost.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from './constants.ts';
import { microBatchesOf, pipelineWorkOf, scheduleInputOf, withSchedule, type PipelineWork } from './pipeline-work.ts';
import { blockCostsOf, type BlockCosts } from './stage-cost.ts';

const START = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
  TimeConstantName,
  number
>;
const CONSTANTS: TimeConstants = { ...START, hostPassS: 0, scaleUpSlowdown: 1, pipelineHopS: 0 };

const block = (forwardS: number, backwardInputS: number, backwardWeightS: number): BlockCost => ({
  forwardS,
  backwardInputS,
  backwardWeightS,
  partsS: new Float64Array(PARTS.length),
});
/** A layer takes 1 s forward, 2 for the gradient of its input and 3 for that of its weights; the loss 4 of each. */
const COSTS: BlockCosts = {
  attention: block(1, 2, 3),
  denseMlp: block(0, 0, 0),
  expertMlp: block(0, 0, 0),
  stateSpace: block(0, 0, 0),
  embedding: block(0, 0, 0),
  loss: block(4, 4, 4),
};

const runOf = (
  layout: Partial<CandidateLayout>,
  cluster: Partial<ClusterFacts> = {},
  model: Partial<ModelShape> = {},
): RunFacts => {
  const run = aRun({ candidate: layout, model: aModel(model) });
  return { ...run, cluster: { ...run.cluster, gpu: { ...gpuOf('h100'), scaleUpGbPerS: 1 }, ...cluster } };
};
const workOf = (run: RunFacts): PipelineWork => pipelineWorkOf(run, COSTS, CONSTANTS);
const island = (gpus: number, relativeSpeed: number) =>
  ({ gpus, relativeSpeed, scaleOutGbPerS: 50, nicKind: 'infiniband' }) as const;

describe('the passes of a pipeline', () => {
  it('are those of its stages: two layers each, and the loss on the last', () => {
    const { forwardS, backwardInputS, backwardWeightS } = workOf(runOf({ pipeline: 4 }));
    expect([...forwardS]).toEqual([2, 2, 2, 2 + 4]);
    expect([...backwardInputS]).toEqual([4, 4, 4, 4 + 4]);
    expect([...backwardWeightS]).toEqual([6, 6, 6, 6 + 4]);
  });

  it('take twice as long on an island of half the speed', () => {
    const islands = [island(2, 1), island(2, 0.5)];
    const work = workOf(runOf({ pipeline: 4 }, { islands }));
    expect([...work.forwardS]).toEqual([2, 2, 4, 2 * (2 + 4)]);
    expect([work.slowestRank, work.busyS]).toEqual([3, 2 * (2 + 4 + 4 + 4 + 6 + 4)]);
  });

  it('leave each rank on average an equal share of what the model computes to hide transfers behind', () => {
    expect(workOf(runOf({ pipeline: 4 })).windows).toEqual({
      forwardS: (8 + 4) / 4,
      backwardS: (8 * (2 + 3) + 4 + 4) / 4,
    });
  });

  it.each<[string, Partial<CandidateLayout>, number, number]>([
    ['the last, which has the loss, on 1F1B', { pipeline: 4 }, 3, 2 * 6 + 3 * 4],
    [
      'the last with both of its chunks, interleaved',
      { pipeline: 2, chunks: 2, schedule: 'interleaved-1f1b' },
      1,
      4 * 6 + 3 * 4,
    ],
    ['the first, to which a sample returns, on ZB-V', { pipeline: 2, chunks: 2, schedule: 'zbv' }, 0, 4 * 6 + 3 * 4],
    ['the only one', {}, 0, 8 * 6 + 3 * 4],
  ])('are longest on %s', (_sentence, layout, rank, busyS) => {
    const work = workOf(runOf(layout));
    expect([work.slowestRank, work.busyS]).toEqual([rank, busyS]);
  });

  it('are together what the model computes, on ranks as on stages, for every schedule', () => {
    const layouts = fc.constantFrom<Partial<CandidateLayout>>(
      { pipeline: 2, chunks: 2, schedule: 'zbv' },
      { pipeline: 4, chunks: 2, schedule: 'interleaved-1f1b' },
      { pipeline: 3, schedule: '1f1b' },
      { pipeline: 4, chunks: 2, schedule: 'dualpipe-v' },
      { pipeline: 5, vocabulary: 'counted-as-layer' },
    );
    fc.assert(
      fc.property(layouts, fc.integer({ min: 8, max: 40 }), (layout, layers) => {
        const { forwardS, backwardInputS, backwardWeightS, busyS } = workOf(runOf(layout, {}, { layers }));
        const sum = (of: Float64Array): number => of.reduce((total, seconds) => total + seconds, 0);
        expect([sum(forwardS), sum(backwardInputS), sum(backwardWeightS)]).toEqual([
          layers + 4,
          2 * layers + 4,
          3 * layers + 4,
        ]);
        expect(busyS).toBeGreaterThanOrEqual((6 * layers + 12) / (layout.pipeline ?? 1));
      }),
    );
  });

  it.each<[from: Schedule, to: Schedule, chunks: number]>([
    ['1f1b', 'gpipe', 1],
    ['gpipe', 'zb-2p', 1],
    ['zb-h1', '1f1b', 1],
    ['zbv', 'dualpipe-v', 2],
    ['v-min', 'v-half', 2],
  ])('are those of %s in the order of %s', (from, to, chunks) => {
    const inputOf = (schedule: Schedule): ScheduleInput => {
      const run = runOf({ pipeline: 4, chunks, schedule });
      return scheduleInputOf(run, workOf(run), CONSTANTS);
    };
    const { candidate } = runOf({ pipeline: 4, chunks, schedule: to });
    expect(withSchedule(inputOf(from), candidate)).toEqual(inputOf(to));
  });
});

describe('hand-overs over two islands, of 2 GB/s and of 1', () => {
  const GPUS = { gpus: 2, relativeSpeed: 1, nicKind: 'infiniband' } as const;
  const islands = [
    { ...GPUS, scaleOutGbPerS: 2 },
    { ...GPUS, scaleOutGbPerS: 1 },
  ];
  /** Nanoseconds of the 256 bytes that are handed over, were every stage a node of its own. */
  const [fast, slow] = [256 / 2, 256];
  const nodes = { gpus: 4, gpusPerNode: 1, scaleUpDomainGpus: 1, islands };

  it.each<[sentence: string, layout: Partial<CandidateLayout>, nanoseconds: readonly number[]]>([
    ['each take the network that both stages share, and the slower one at the border', {}, [fast, slow, slow]],
    [
      'go round where stages are interleaved',
      { schedule: 'interleaved-1f1b', chunks: 2 },
      [fast, slow, slow, slow, fast, slow, slow],
    ],
    [
      'come back the way they went where the schedule is shaped like a V',
      { schedule: 'zbv', chunks: 2 },
      [fast, slow, slow, NaN, slow, slow, fast],
    ],
  ])('%s', (_sentence, layout, nanoseconds) => {
    const run = runOf({ pipeline: 4, ...layout }, nodes, { layers: 8 });
    const constants = { ...CONSTANTS, scaleOutSlowdown: 1 };
    const hops = [...scheduleInputOf(run, workOf(run), constants).forwardHopS];
    // Nothing follows the last stage, and at the turn of a V both stages are of one rank.
    const expected = nanoseconds.map((_, stage) =>
      Number.isNaN(nanoseconds[stage]) ? NaN : Math.round(1e9 * (hops[stage] ?? 0)),
    );
    expect(expected).toEqual(nanoseconds);
  });
});

describe('what a schedule is simulated from', () => {
  const inputOf = (layout: Partial<CandidateLayout>): ReturnType<typeof scheduleInputOf> => {
    const run = runOf(layout);
    return scheduleInputOf(run, workOf(run), CONSTANTS);
  };

  it.each<[string, Partial<CandidateLayout>, number]>([
    ['8 tokens of 16 elements of 2 bytes', { pipeline: 2 }, 8 * 16 * 2],
    ['as many for each sample of a micro-batch', { pipeline: 2, microBatchSize: 4 }, 4 * 8 * 16 * 2],
    ['half of them on each of two context ranks', { pipeline: 2, context: 2 }, (8 * 16 * 2) / 2],
    ['all of them on tensor ranks, which hold the same', { pipeline: 2, tensor: 2 }, 8 * 16 * 2],
    [
      'half of them where sequence parallelism divides them',
      { pipeline: 2, tensor: 2, sequenceParallel: true },
      (8 * 16 * 2) / 2,
    ],
  ])('hands over at 1 GB/s %s', (_sentence, layout, bytes) => {
    const { forwardHopS, backwardHopS } = inputOf(layout);
    expect((forwardHopS[0] ?? 0) * 1e9).toBeCloseTo(bytes, 6);
    expect(backwardHopS).toEqual(forwardHopS);
  });

  it.each<[Schedule, number, number, Schedule, 'blocking' | 'overlapped']>([
    ['1f1b', 2, 1, '1f1b', 'blocking'],
    ['1f1b', 2, 2, 'interleaved-1f1b', 'overlapped'],
    ['interleaved-1f1b', 2, 1, '1f1b', 'blocking'],
    ['gpipe', 2, 1, 'gpipe', 'blocking'],
    ['zbv', 2, 2, 'zbv', 'overlapped'],
    ['zbv', 1, 2, 'gpipe', 'blocking'],
  ])('runs %s on %i ranks of %i chunks as %s, with hand-overs %s', (...row) => {
    const [schedule, pipeline, chunks, want, p2p] = row;
    const input = inputOf({ schedule, pipeline, chunks });
    expect([input.schedule, input.p2p]).toEqual([want, p2p]);
  });

  it.each<[string, Partial<CandidateLayout>, number]>([
    ['16 samples in 4 replicas, two at a time', { data: 4, microBatchSize: 2 }, 16 / (4 * 2)],
    ['a part of a micro-batch counts as one', { data: 3 }, 6],
    ['one at least', { data: 16, microBatchSize: 4 }, 1],
  ])('counts whole micro-batches: %s', (_sentence, layout, want) => {
    expect(microBatchesOf(runOf(layout))).toBe(want);
  });
});

describe('block costs of a run, which a search keeps', () => {
  it('are the same for any pipeline, replicas and sharding', () => {
    const costs = (layout: Partial<CandidateLayout>): BlockCosts =>
      blockCostsOf(aRun({ candidate: { tensor: 2, ...layout }, cluster: aCluster(64) }), START);
    const plain = costs({});
    for (const layout of [
      { pipeline: 4 },
      { data: 8 },
      { data: 4, zeroStage: 3 },
      { pipeline: 2, chunks: 2 },
    ] as const) {
      expect(costs(layout)).toEqual(plain);
    }
  });
});
