import fc from 'fast-check';
import { CALIBRATION } from '../calibration/fitted.ts';
import { constantsFor } from '../calibration/calibration.ts';
import type { CandidateLayout, RunFacts } from '../facts.ts';
import { gpuOf, modelOf } from '../presets/index.ts';
import { aCandidate } from '../testing/candidates.ts';
import { predictStepTime, STEP_PARTS, type StepTime } from './step-time.ts';

interface RunOverrides {
  readonly model?: string;
  readonly gpu?: string;
  readonly gpus?: number;
  readonly candidate?: Partial<CandidateLayout>;
  readonly facts?: Partial<Omit<RunFacts, 'candidate' | 'model' | 'cluster'>>;
  readonly scaleOutGbPerS?: number;
  readonly nicKind?: RunFacts['cluster']['nicKind'];
}

function aRun(overrides: RunOverrides = {}): RunFacts {
  const candidate = aCandidate({ microBatchSize: 1, ...overrides.candidate });
  const gpus = overrides.gpus ?? candidate.tensor * candidate.context * candidate.pipeline * candidate.data;
  const gpu = gpuOf(overrides.gpu ?? 'h100');
  return {
    model: modelOf(overrides.model ?? 'llama-3.1-8b').model,
    cluster: {
      gpu,
      gpus,
      gpusPerNode: 8,
      scaleUpDomainGpus: 8,
      scaleOutGbPerS: overrides.scaleOutGbPerS ?? 50,
      nicKind: overrides.nicKind ?? 'infiniband',
    },
    stack: 'megatron-bridge',
    precision: 'bf16',
    flashAttention: true,
    gradientBytes: 2,
    loraRank: 0,
    candidate,
    globalBatchSize: 64,
    sequenceLength: 4096,
    ...overrides.facts,
  };
}

const step = (overrides: RunOverrides = {}): StepTime => {
  const run = aRun(overrides);
  return predictStepTime(run, constantsFor(CALIBRATION, run.cluster.gpu.silicon, run.stack));
};
const seconds = (overrides: RunOverrides = {}): number => step(overrides).stepTimeS;

const GPT_1T = {
  model: 'megatron-1t',
  gpu: 'a100-80gb',
  scaleOutGbPerS: 25,
  candidate: { tensor: 8, pipeline: 64, data: 6, recompute: 'full' },
  facts: {
    stack: 'megatron-lm 2021',
    precision: 'fp16',
    flashAttention: false,
    globalBatchSize: 3072,
    sequenceLength: 2048,
  },
} as const;

const across = { ...GPT_1T, candidate: { ...GPT_1T.candidate, tensor: 16, pipeline: 32 } } as const;
const PIPELINED = { tensor: 2, pipeline: 8, data: 1 } as const;

describe('the time of a step', () => {
  it('is within 8 % of what Megatron-LM published for a trillion parameters on 3,072 A100', () => {
    // Narayanan et al. 2021 (arXiv 2104.04473), table 1: 102.4 s at 163 TFLOP/s per GPU
    expect(Math.abs(seconds(GPT_1T) / 102.4 - 1)).toBeLessThan(0.08);
  });

  it.each<[string, RunOverrides, RunOverrides]>([
    ['a tensor group inside a node is faster than one across nodes', GPT_1T, across],
    ['full recomputation costs time', { candidate: { data: 8 } }, { candidate: { data: 8, recompute: 'full' } }],
    [
      'recomputing norms costs less than recomputing everything',
      { candidate: { data: 8, recompute: 'selective', recomputeModules: ['layernorm'] } },
      { candidate: { data: 8, recompute: 'full' } },
    ],
    [
      'recomputing five layers costs less than recomputing all',
      { candidate: { data: 8, recompute: 'full', recomputeLayersPerChunk: 5 } },
      { candidate: { data: 8, recompute: 'full' } },
    ],
    ['fp8 is faster than bf16', { candidate: { data: 8 }, facts: { precision: 'fp8' } }, { candidate: { data: 8 } }],
    [
      'gradients that hide behind the backward pass are faster than gradients that wait',
      { candidate: { data: 32, zeroStage: 1, zeroImplementation: 'distopt', overlapGradReduce: true } },
      { candidate: { data: 32, zeroStage: 1, zeroImplementation: 'distopt' } },
    ],
    [
      'interleaving shrinks the bubble',
      { candidate: { ...PIPELINED, chunks: 4, schedule: 'interleaved-1f1b' }, facts: { globalBatchSize: 16 } },
      { candidate: PIPELINED, facts: { globalBatchSize: 16 } },
    ],
    [
      'a zero-bubble schedule is faster than 1F1B',
      { candidate: { ...PIPELINED, schedule: 'zb-2p' }, facts: { globalBatchSize: 16 } },
      { candidate: PIPELINED, facts: { globalBatchSize: 16 } },
    ],
    [
      'InfiniBand is faster than Ethernet of the same rate',
      { candidate: { data: 32 } },
      { candidate: { data: 32 }, nicKind: 'ethernet' },
    ],
    [
      'FlashAttention is faster than unfused attention',
      { candidate: { data: 8 } },
      { candidate: { data: 8 }, facts: { flashAttention: false } },
    ],
    [
      'experts with a fixed capacity are faster than dropless ones',
      { model: 'mixtral-8x7b', candidate: { data: 8, expert: 8, expertCapacity: 1 } },
      { model: 'mixtral-8x7b', candidate: { data: 8, expert: 8 } },
    ],
    [
      'an expert group inside a node is faster than one across nodes',
      { model: 'qwen3-30b-a3b', candidate: { data: 16, expert: 8 } },
      { model: 'qwen3-30b-a3b', candidate: { data: 16, expert: 16 } },
    ],
    [
      'a stack with CUDA graphs launches small layers faster',
      { model: 'qwen3-30b-a3b', candidate: { data: 8, expert: 8, cudaGraphs: 'full' } },
      { model: 'qwen3-30b-a3b', candidate: { data: 8, expert: 8 } },
    ],
    [
      'tokens that are spread evenly over experts are faster than tokens that the router sends where it likes',
      { model: 'qwen3-30b-a3b', candidate: { data: 8, expert: 8 }, facts: { balancedRouting: true } },
      { model: 'qwen3-30b-a3b', candidate: { data: 8, expert: 8 } },
    ],
    [
      'and be they 64 rows an expert',
      {
        model: 'qwen3-30b-a3b',
        candidate: { data: 8, expert: 8 },
        facts: { balancedRouting: true, sequenceLength: 128, globalBatchSize: 8 },
      },
      {
        model: 'qwen3-30b-a3b',
        candidate: { data: 8, expert: 8 },
        facts: { sequenceLength: 128, globalBatchSize: 8 },
      },
    ],
    [
      'collecting garbage after five steps costs more than after a hundred',
      { candidate: { data: 8 }, facts: { stepsPerCollection: 100 } },
      { candidate: { data: 8 }, facts: { stepsPerCollection: 5 } },
    ],
    [
      'a context group of two halves neither more nor less than the attention it shares',
      { candidate: { context: 2, data: 4 }, facts: { sequenceLength: 65_536 } },
      { candidate: { data: 4 }, facts: { sequenceLength: 65_536 } },
    ],
  ])('%s', (_sentence, faster, slower) => {
    expect(seconds(faster)).toBeLessThan(seconds(slower));
  });

  it('goes to parts that sum to it', () => {
    fc.assert(
      fc.property(
        fc.record({
          tensor: fc.constantFrom(1, 2, 4, 8),
          pipeline: fc.constantFrom(1, 2, 4),
          data: fc.constantFrom(1, 2, 4),
          microBatchSize: fc.constantFrom(1, 2),
          recompute: fc.constantFrom('none' as const, 'full' as const),
          zeroStage: fc.constantFrom(0 as const, 1 as const, 3 as const),
        }),
        (layout) => {
          const { stepTimeS, partsS } = step({ candidate: { ...layout, shardGroup: layout.data } });
          expect(STEP_PARTS.reduce((sum, part) => sum + partsS[part], 0)).toBeCloseTo(stepTimeS, 9);
        },
      ),
    );
  });

  it('never grows when links become faster', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 100, noNaN: true }),
        fc.double({ min: 1, max: 4, noNaN: true }),
        (rate, factor) => {
          const candidate = { tensor: 2, pipeline: 2, data: 8 } as const;
          expect(seconds({ candidate, scaleOutGbPerS: rate * factor })).toBeLessThanOrEqual(
            seconds({ candidate, scaleOutGbPerS: rate }) * (1 + 1e-12),
          );
        },
      ),
    );
  });

  it('is about proportional to the micro-batches once a pipeline is full', () => {
    const candidate = { pipeline: 4, data: 1 } as const;
    const few = seconds({ candidate, facts: { globalBatchSize: 256 } });
    const many = seconds({ candidate, facts: { globalBatchSize: 512 } });
    expect(many / few).toBeGreaterThan(1.9);
    expect(many / few).toBeLessThan(2);
  });
});

describe('islands of unequal speed', () => {
  const islands = (relativeSpeed: number): RunFacts => {
    const run = aRun({ candidate: { pipeline: 2, data: 8 } });
    const island = { gpus: 8, scaleOutGbPerS: 50, nicKind: 'infiniband' as const };
    return {
      ...run,
      cluster: {
        ...run.cluster,
        islands: [
          { ...island, relativeSpeed: 1 },
          { ...island, relativeSpeed },
        ],
      },
    };
  };

  it('slow the step down to the pace of the slowest stage', () => {
    const constants = constantsFor(CALIBRATION, 'h100-sxm5-80gb', 'megatron-bridge');
    const equal = predictStepTime(islands(1), constants).stepTimeS;
    const unequal = predictStepTime(islands(0.5), constants).stepTimeS;
    expect(unequal / equal).toBeGreaterThan(1.5);
    expect(unequal / equal).toBeLessThan(2.2);
  });
});
