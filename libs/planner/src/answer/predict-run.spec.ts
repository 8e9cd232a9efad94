import type { PlanRequestInput } from '../contract.ts';
import type { CandidateLayout, RunFacts } from '../facts.ts';
import { modelOf } from '../presets/index.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { resolveRequest, type ResolvedRequest } from '../request/resolved-request.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aModel, aRun } from '../testing/runs.ts';
import { assumptionsOf } from './assumptions.ts';
import { planOf } from './plan-of-layout.ts';
import { modelFlopsPerToken, predictRun } from './predict-run.ts';

const EXPERTS = { count: 4, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
/** Queries, keys, values and output of 4 and 2 heads of 4. */
const ATTENTION = 16 * (16 + 2 * 8 + 16);
const NORMS = 2 * 16;
/** Final norm and output projection of 64 words. */
const HEAD = 16 + 64 * 16;
/** Scores and their sum: 4 heads of 4 and 4, over the mean keys of a query, in 8 layers. */
const scores = (keys: number): number => 6 * 8 * 4 * (4 + 4) * keys;

describe('the model FLOPs of a token', () => {
  it('are 51.5 GFLOP for Llama 3 8B at 8,192 tokens, causal attention halved (Megatron Bridge)', () => {
    const run = { model: modelOf('llama-3-8b').model, sequenceLength: 8192 };
    expect(modelFlopsPerToken(run) / 1e9).toBeCloseTo(51.5, 1);
  });

  it.each<[string, Parameters<typeof aModel>[0], number]>([
    [
      '6 for each parameter but the embedding, and half the scores',
      {},
      6 * (8 * (ATTENTION + 3 * 16 * 32 + NORMS) + HEAD) + scores(8 / 2),
    ],
    [
      'the same with an output projection that is tied to the embedding',
      { tiedEmbeddings: true },
      6 * (8 * (ATTENTION + 3 * 16 * 32 + NORMS) + HEAD) + scores(8 / 2),
    ],
    [
      'those of 2 experts of 4, and of the router',
      { experts: EXPERTS },
      6 * (8 * (ATTENTION + 2 * 3 * 16 * 8 + 16 * 4 + NORMS) + HEAD) + scores(8 / 2),
    ],
    [
      '3 keys on average in a window of 4',
      { attentionWindow: 4, windowedLayers: 8 },
      6 * (8 * (ATTENTION + 3 * 16 * 32 + NORMS) + HEAD) + scores(3),
    ],
    [
      'scores of the layers with attention alone',
      { layerPattern: '*-*-*-*-' },
      6 * (4 * (ATTENTION + 16) + 4 * (3 * 16 * 32 + 16) + HEAD) + scores(8 / 2) / 2,
    ],
  ])('are %s', (_sentence, model, want) => {
    expect(modelFlopsPerToken({ model: aModel(model), sequenceLength: 8 })).toBe(want);
  });
});

describe('what is predicted for a run', () => {
  const runOf = (
    layout: Partial<CandidateLayout>,
    facts: Partial<Omit<RunFacts, 'candidate' | 'model'>> = {},
  ): RunFacts =>
    aRun({ model: 'llama-3.1-8b', candidate: layout, globalBatchSize: 32, sequenceLength: 4096, ...facts });
  const LAYOUTS: readonly Partial<CandidateLayout>[] = [
    {},
    { tensor: 2, pipeline: 4, data: 2 },
    { tensor: 4, sequenceParallel: true, data: 2, zeroStage: 3, zeroImplementation: 'fsdp' },
    { pipeline: 4, chunks: 2, schedule: 'interleaved-1f1b', recompute: 'full' },
  ];

  it.each(LAYOUTS)('adds up: parts of a step, parts of each stage, tokens and FLOPs (%j)', (layout) => {
    const run = runOf(layout);
    const predicted = predictRun(run);
    const sum = (of: readonly number[]): number => of.reduce((total, part) => total + part, 0);
    expect(sum(predicted.breakdown.map(({ seconds }) => seconds)) / predicted.stepTimeS).toBeCloseTo(1, 9);
    for (const { peakGib, parts } of predicted.memory) {
      expect(sum(parts.map(({ gib }) => gib)) / peakGib).toBeCloseTo(1, 9);
    }
    expect(predicted.memory.map(({ stage }) => stage)).toEqual(predicted.memory.map((_, index) => index));
    expect(predicted.memory).toHaveLength(layout.pipeline ?? 1);
    expect(predicted.peakGib).toBe(Math.max(...predicted.memory.map(({ peakGib }) => peakGib)));
    const tokens = predicted.tokensPerSPerGpu * predicted.stepTimeS * run.cluster.gpus;
    expect(tokens).toBeCloseTo(32 * 4096, 3);
    const flopsPerS = predicted.tokensPerSPerGpu * modelFlopsPerToken(run);
    expect(predicted.modelFlopsUtilizationPct).toBeCloseTo((100 * flopsPerS) / 989e12, 6);
    expect(predicted.breakdown.every(({ seconds }) => seconds !== 0)).toBe(true);
  });

  it('measures utilization by the peak of the format that matrix products run in', () => {
    const inFp8 = predictRun(runOf({ tensor: 8 }, { precision: 'fp8' }));
    const flopsPerS = inFp8.tokensPerSPerGpu * modelFlopsPerToken(runOf({}));
    expect(inFp8.modelFlopsUtilizationPct).toBeCloseTo((100 * flopsPerS) / 1979e12, 6);
  });

  it('says what does not fit, and counts the margin that is asked for', () => {
    const small = runOf({ tensor: 8, data: 1, sequenceParallel: true }, {});
    expect(predictRun(runOf({})).verdict).toBe('doesNotFit');
    expect(predictRun(small).verdict).toBe('fits');
    expect(predictRun(small, 0.9).verdict).not.toBe('fits');
  });
});

const REQUEST: PlanRequestInput = {
  model: 'llama-3.1-8b',
  cluster: { gpu: 'h100', gpus: 16 },
  globalBatchSize: 32,
  sequenceLength: 4096,
};
const resolvedOf = (over: Partial<PlanRequestInput> = {}): ResolvedRequest =>
  resolveRequest(parsePlanRequest({ ...REQUEST, ...over }));

describe('a plan', () => {
  const candidate = aCandidate({ tensor: 8, sequenceParallel: true, microBatchSize: 2 });

  it('costs one step at the price of the GPU where no tokens are given', () => {
    const plan = planOf(resolvedOf(), { candidate, gpus: 8 });
    expect(plan.costUsd).toBeCloseTo((plan.prediction.stepTimeS / 3600) * 8 * 3, 9);
    expect(plan.trainingHours).toBeUndefined();
    expect([plan.gpus, plan.microBatchSize, plan.layout.tensorParallelDegree]).toEqual([8, 2, 8]);
  });

  it('costs as many steps as the tokens take, at the price that was asked for', () => {
    const resolved = resolvedOf({ tokens: 1000 * 32 * 4096, cluster: { ...REQUEST.cluster, usdPerGpuHour: 1.5 } });
    const plan = planOf(resolved, { candidate, gpus: 8 });
    expect(plan.trainingHours).toBeCloseTo((1000 * plan.prediction.stepTimeS) / 3600, 9);
    expect(plan.costUsd).toBeCloseTo((plan.trainingHours ?? 0) * 8 * 1.5, 9);
  });

  it('predicts on as many GPUs as the layout takes, not on all of the cluster', () => {
    const resolved = resolvedOf();
    const plan = planOf(resolved, { candidate, gpus: 8 });
    const all = planOf(resolved, { candidate: { ...candidate, data: 2, shardGroup: 2 }, gpus: 16 });
    expect(plan.prediction.tokensPerSPerGpu * plan.prediction.stepTimeS * 8).toBeCloseTo(32 * 4096, 3);
    expect(all.prediction.tokensPerSPerGpu * all.prediction.stepTimeS * 16).toBeCloseTo(32 * 4096, 3);
  });
});

describe('what is assumed', () => {
  it.each<[string, Partial<PlanRequestInput>]>([
    ['GPUs per node', { cluster: { ...REQUEST.cluster, gpusPerNode: 4 } }],
    ['the bandwidth between nodes', { cluster: { ...REQUEST.cluster, scaleOutGbPerS: 25 } }],
    ['the price', { cluster: { ...REQUEST.cluster, usdPerGpuHour: 2 } }],
    ['the engine', { stack: 'megatron-core' }],
    ['what may be offloaded', { allow: { offload: false } }],
  ])('is said of %s unless the request says it', (_sentence, over) => {
    const [before, after] = [assumptionsOf(resolvedOf()), assumptionsOf(resolvedOf(over))];
    expect(before.filter((assumed) => !after.includes(assumed))).toHaveLength(1);
    expect(after.filter((assumed) => !before.includes(assumed))).toEqual([]);
  });

  it.each<[string, PlanRequestInput['cluster'], readonly string[]]>([
    ['between nodes', { gpu: 'h100', gpus: 16 }, ['50 GB/s of infiniband per GPU and direction between nodes']],
    ['and none inside of one node', { gpu: 'h100', gpus: 8 }, []],
    ['nor inside of one rack that NVLink joins', { gpu: 'gb200', gpus: 72 }, []],
    [
      'between pairs that a bridge joins',
      { gpu: 'a100-pcie-40gb', gpus: 4 },
      ['groups of 2 GPUs joined at 300 GB/s per direction, and PCIe of 32 GB/s between groups'],
    ],
  ])('tells the links that traffic takes, %s', (_sentence, cluster, want) => {
    const links = assumptionsOf(resolvedOf({ cluster })).filter((assumed) => /between nodes|joined/.test(assumed));
    expect(links).toEqual(want);
  });

  it.each<[string, Partial<PlanRequestInput>, string]>([
    [
      'an engine that nobody knows, with those that are near',
      { stack: 'megtron' },
      'an average engine that supports every option, because engine "megtron" is unknown; nearest names: megatron-lm, megatron-core, megatron-bridge',
    ],
    [
      'how an engine without a name sends tokens to experts',
      { model: 'mixtral-8x7b' },
      'an engine of average speed that runs what megatron-lm runs and sends tokens to experts with DeepEP; name your engine with stack',
    ],
    [
      'an engine whose steps were not measured',
      { stack: 'torchtitan' },
      'the constants of an average engine, because torchtitan was not measured; its options are known',
    ],
    [
      'a release that was not measured',
      { stack: 'megatron-bridge 99.01' },
      'the constants of megatron-bridge, because its release in "megatron-bridge 99.01" was not measured',
    ],
    [
      'an engine whose steps were measured and whose words are not known',
      { stack: 'internevo' },
      'that internevo supports every schedule and every ZeRO stage, because its options are not known',
    ],
    [
      'the memory that may be used',
      {},
      '66.4 of 79.6 GiB of a GPU may be allocated; the rest is a margin and the memory of CUDA, communicators and the allocator',
    ],
    ['the memory of hosts', {}, '204 GiB of host memory per GPU may hold offloaded states and activations'],
    ['days that cost nothing', { objective: 'cost' }, 'no deadline, so only the cost counts and not the training time'],
  ])('tells of %s', (_sentence, over, assumed) => {
    const cluster = { gpu: 'h100', gpus: 16 };
    expect(assumptionsOf(resolvedOf({ cluster, ...over }))).toContain(assumed);
  });

  it('tells nothing of the engine where its release was measured', () => {
    expect(assumptionsOf(resolvedOf({ stack: 'megatron-bridge 26.04' })).join()).not.toMatch(/engine|constants/);
  });

  it.each([
    ['cost', 'only numbers of GPUs that divide all GPUs into whole nodes: 1, 2, 4, 8, 16, 24 and 48'],
    ['time', undefined],
  ] as const)('says which numbers of GPUs were looked at where some may be left over: %s', (objective, assumed) => {
    const assumptions = assumptionsOf(resolvedOf({ cluster: { gpu: 'h100', gpus: 48 }, objective }));
    expect(assumptions.find((one) => one.startsWith('only numbers of GPUs'))).toBe(assumed);
  });

  it('is attention without FlashAttention on a V100, which has no kernels for it', () => {
    const [hopper, volta] = ['h100', 'v100'].map((gpu) => assumptionsOf(resolvedOf({ cluster: { gpu, gpus: 8 } })));
    expect(hopper).toContain('FlashAttention');
    expect(volta).not.toContain('FlashAttention');
  });
});
