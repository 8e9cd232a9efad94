/** What holds of any machine, whatever was fitted: each test changes one fact of the hardware or of the job and keeps the layout. */
import fc from 'fast-check';
import { constantsFor } from '../calibration/calibration.ts';
import { CALIBRATION } from '../calibration/fitted.ts';
import { RANK_ORDERS, type CandidateLayout, type ClusterFacts, type GpuFacts, type RunFacts } from '../facts.ts';
import { GPU_PRESETS, gpuOf, modelOf } from '../presets/index.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aCluster, aRun } from '../testing/runs.ts';
import { predictStepTime } from './step-time.ts';

const STACKS = ['megatron-bridge', 'megatron-lm 2021', 'deepspeed', 'torchtitan', 'unnamed'];
/** Of rounding in sums of many terms. */
const SAME = 1 + 1e-9;

function secondsOf(run: RunFacts): number {
  return predictStepTime(run, constantsFor(CALIBRATION, run.cluster.gpu.silicon, run.stack)).stepTimeS;
}

const power = (most: number) => fc.constantFrom(...[1, 2, 4, 8, 16].filter((degree) => degree <= most));

const STATES = [
  { zeroStage: 0, zeroImplementation: 'ddp' },
  { zeroStage: 1, zeroImplementation: 'distopt' },
  { zeroStage: 2, zeroImplementation: 'fsdp' },
  { zeroStage: 3, zeroImplementation: 'fsdp' },
] as const satisfies readonly Partial<CandidateLayout>[];

const layouts = fc
  .record({
    tensor: power(8),
    context: power(4),
    pipeline: power(4),
    data: power(16),
    microBatchSize: power(2),
    overlapGradReduce: fc.boolean(),
    overlapParamGather: fc.boolean(),
    overlapTensor: fc.boolean(),
    rankOrder: fc.constantFrom(...RANK_ORDERS),
    recompute: fc.constantFrom('none' as const, 'full' as const),
    offloadOptimizer: fc.constantFrom(0, 1),
    states: fc.constantFrom(...STATES),
  })
  .map(({ states, ...choices }) => aCandidate({ ...choices, ...states, sequenceParallel: choices.tensor > 1 }));

const moeLayouts = fc
  .record({ tensor: power(2), context: power(2), pipeline: power(2), data: power(16), expert: power(16) })
  .filter(({ tensor, context, data, expert }) => (tensor * context * data) % expert === 0)
  .map((choices) => aCandidate({ ...choices, ...STATES[1], sequenceParallel: choices.tensor > 1 }));

const DENSE = modelOf('llama-3.1-8b').model;
const EXPERTS = modelOf('qwen3-30b-a3b').model;

const runs = fc
  .tuple(
    fc.oneof(
      layouts.map((candidate) => ({ candidate, model: DENSE })),
      moeLayouts.map((candidate) => ({ candidate, model: EXPERTS })),
    ),
    fc.constantFrom(...STACKS),
  )
  .map(([{ candidate, model }, stack]): RunFacts => {
    const gpus = candidate.tensor * candidate.context * candidate.pipeline * candidate.data;
    return {
      model,
      stack,
      candidate,
      cluster: aCluster(gpus),
      precision: 'bf16',
      flashAttention: true,
      gradientBytes: 4,
      loraRank: 0,
      globalBatchSize: 4 * candidate.data * candidate.microBatchSize,
      sequenceLength: 4096,
    };
  });

const more = fc.double({ min: 1, max: 20, noNaN: true });
const withGpu = (run: RunFacts, gpu: Partial<GpuFacts>): RunFacts =>
  withCluster(run, { gpu: { ...run.cluster.gpu, ...gpu } });
const withCluster = (run: RunFacts, cluster: Partial<ClusterFacts>): RunFacts => ({
  ...run,
  cluster: { ...run.cluster, ...cluster },
});

describe('more of the hardware never slows a layout down', () => {
  it.each<[string, (run: RunFacts, times: number) => RunFacts]>([
    ['scale-out bandwidth', (run, times) => withCluster(run, { scaleOutGbPerS: 50 * times })],
    ['scale-up bandwidth', (run, times) => withGpu(run, { scaleUpGbPerS: 450 * times })],
    ['PCIe bandwidth', (run, times) => withGpu(run, { pcieGbPerS: 64 * times })],
    ['memory bandwidth', (run, times) => withGpu(run, { memoryTbPerS: 3.35 * times })],
    ['memory', (run, times) => withGpu(run, { memoryGib: 80 * times })],
  ])('%s', (_what, change) => {
    fc.assert(
      fc.property(runs, more, (run, times) => {
        expect(secondsOf(change(run, times))).toBeLessThanOrEqual(secondsOf(change(run, 1)) * SAME);
      }),
    );
  });

  it('bandwidth between islands', () => {
    const inIslands = (run: RunFacts, betweenIslandsGbPerS: number): RunFacts => {
      const { gpus } = run.cluster;
      const island = { gpus: gpus / 2, scaleOutGbPerS: 50, nicKind: 'infiniband', relativeSpeed: 1 } as const;
      return withCluster(run, { islands: [island, island], betweenIslandsGbPerS });
    };
    fc.assert(
      fc.property(runs, fc.double({ min: 0.1, max: 40, noNaN: true }), more, (run, slow, times) => {
        fc.pre(run.cluster.gpus > 1);
        expect(secondsOf(inIslands(run, slow * times))).toBeLessThanOrEqual(secondsOf(inIslands(run, slow)) * SAME);
      }),
    );
  });

  it('a network of a better kind at the same rate', () => {
    fc.assert(
      fc.property(runs, fc.constantFrom('roce' as const, 'ethernet' as const, 'other' as const), (run, nicKind) => {
        expect(secondsOf(run)).toBeLessThanOrEqual(secondsOf(withCluster(run, { nicKind })) * SAME);
      }),
    );
  });
});

/** Parts of one chip of which the second has nothing less than the first. */
const DOMINATED = GPU_PRESETS.flatMap((less) =>
  GPU_PRESETS.filter((gpu) => gpu.silicon === less.silicon && gpu !== less && hasAll(gpu, less)).map((gpu) => ({
    less,
    gpu,
  })),
);

function hasAll(gpu: GpuFacts, less: GpuFacts): boolean {
  const facts = ['fp8Tflops', 'memoryTbPerS', 'scaleUpGbPerS', 'pcieGbPerS', 'scaleUpDomainGpus'] as const;
  const ceiling = ({ bf16Tflops, matmulCeiling }: GpuFacts): number => bf16Tflops * matmulCeiling;
  return ceiling(gpu) >= ceiling(less) && facts.every((fact) => gpu[fact] >= less[fact]);
}

describe('parts of one chip', () => {
  it.each(DOMINATED.map(({ less, gpu }) => [gpu.name, less.name, less, gpu] as const))(
    '%s is never slower than %s in the same machine',
    (_gpu, _less, less, gpu) => {
      fc.assert(
        fc.property(runs, (run) => {
          expect(secondsOf(withCluster(run, { gpu }))).toBeLessThanOrEqual(
            secondsOf(withCluster(run, { gpu: less })) * SAME,
          );
        }),
        { numRuns: 30 },
      );
    },
  );

  it.each([
    ['h100-sxm5-80gb', 'h800-sxm5-80gb'],
    ['gb200-nvl72', 'b200-sxm-180gb'],
    ['h200-sxm-141gb', 'h100-sxm5-80gb'],
  ])('%s against %s is among them', (gpu, less) => {
    expect(DOMINATED).toContainEqual({ less: gpuOf(less), gpu: gpuOf(gpu) });
  });
});

describe('more work never takes less time on one layout', () => {
  it.each<[string, (run: RunFacts, times: number) => RunFacts]>([
    ['samples', (run, times) => ({ ...run, globalBatchSize: run.globalBatchSize * times })],
    ['tokens in a sample', (run, times) => ({ ...run, sequenceLength: run.sequenceLength * times })],
    [
      'samples in a micro-batch, at as many micro-batches',
      (run, times) => ({
        ...run,
        globalBatchSize: run.globalBatchSize * times,
        candidate: { ...run.candidate, microBatchSize: run.candidate.microBatchSize * times },
      }),
    ],
  ])('%s', (_what, change) => {
    fc.assert(
      fc.property(runs, fc.integer({ min: 2, max: 4 }), (run, times) => {
        expect(secondsOf(change(run, times))).toBeGreaterThanOrEqual(secondsOf(run) / SAME);
      }),
    );
  });
});

describe('a window of attention', () => {
  const sequences = fc.constantFrom(128, 1000, 4096, 32_768);
  const windowed = (run: RunFacts, sequenceLength: number, attentionWindow: number, windowedLayers: number): number =>
    secondsOf({ ...run, sequenceLength, model: { ...run.model, attentionWindow, windowedLayers } });
  const layersOf = ({ model }: RunFacts): fc.Arbitrary<number> => fc.integer({ min: 0, max: model.layers });
  const runAndLayers = runs.chain((run) => fc.tuple(fc.constant(run), layersOf(run)));

  it('at least as long as the sequence changes nothing', () => {
    fc.assert(
      fc.property(runAndLayers, sequences, fc.nat(100_000), ([run, layers], sequence, more) => {
        const seconds = windowed(run, sequence, sequence + more, layers);
        expect(seconds / windowed(run, sequence, 0, 0)).toBeCloseTo(1, 9);
      }),
    );
  });

  it('is never slower where it is shorter, or where more layers have it', () => {
    fc.assert(
      fc.property(
        fc.tuple(runAndLayers, sequences, fc.integer({ min: 1, max: 40_000 }), fc.nat(40_000)),
        ([[run, layers], sequence, window, more]) => {
          const seconds = windowed(run, sequence, window, layers);
          expect(seconds).toBeLessThanOrEqual(windowed(run, sequence, window + more, layers) * SAME);
          expect(windowed(run, sequence, window, run.model.layers)).toBeLessThanOrEqual(seconds * SAME);
        },
      ),
    );
  });

  it('of 4,096 of 32,768 tokens makes a step of Llama 3.1 8B shorter, and sinks alone make it longer', () => {
    const seconds = (change: Partial<RunFacts['model']> = {}): number =>
      secondsOf(aRun({ model: { ...DENSE, ...change }, stack: 'megatron-bridge', sequenceLength: 32_768 }));
    const window = { attentionWindow: 4096, windowedLayers: DENSE.layers };
    expect(seconds(window)).toBeLessThan(0.9 * seconds());
    expect(seconds({ attentionSinks: true })).toBeGreaterThan(1.2 * seconds());
    expect(seconds({ ...window, attentionSinks: true })).toBeLessThan(seconds({ attentionSinks: true }));
  });
});

describe('Holmes: gradients that cross islands cost what lies between these', () => {
  const island = { gpus: 256, scaleOutGbPerS: 50, nicKind: 'infiniband', relativeSpeed: 1 } as const;
  const llama70b = (rankOrder: CandidateLayout['rankOrder'], betweenIslandsGbPerS: number): number =>
    secondsOf({
      model: modelOf('llama-3.1-70b').model,
      stack: 'megatron-bridge',
      candidate: aCandidate({
        ...STATES[1],
        tensor: 4,
        context: 2,
        pipeline: 4,
        data: 16,
        sequenceParallel: true,
        overlapGradReduce: true,
        overlapParamGather: true,
        ...(rankOrder === undefined ? {} : { rankOrder }),
      }),
      cluster: aCluster(512, { islands: [island, island], betweenIslandsGbPerS }),
      precision: 'bf16',
      flashAttention: true,
      gradientBytes: 4,
      loraRank: 0,
      globalBatchSize: 512,
      sequenceLength: 8192,
    });

  it('with the pipeline between context and data a slow link decides the step, in proportion to its rate', () => {
    expect(llama70b('tp-cp-pp-dp', 3.1)).toBeGreaterThan(1.2 * llama70b('tp-cp-pp-dp', 50));
    expect(llama70b('tp-cp-pp-dp', 0.1) / llama70b('tp-cp-pp-dp', 0.2)).toBeCloseTo(2, 0);
  });

  it('with the pipeline outermost only activations cross, and the step hardly changes', () => {
    expect(llama70b('tp-cp-dp-pp', 3.1)).toBeLessThan(1.1 * llama70b('tp-cp-dp-pp', 50));
    expect(llama70b('tp-cp-dp-pp', 3.1)).toBeLessThan(llama70b('tp-cp-pp-dp', 3.1));
  });
});
