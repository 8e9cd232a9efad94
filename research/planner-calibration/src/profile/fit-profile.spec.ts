import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ParallelLayout } from '@coxswain/layout';
import { type ClusterFacts, parsePlanRequest, type PlanRequestInput, predict } from '@coxswain/planner';
import { CALIBRATION, constantsFor, withProfile } from '@coxswain/planner/calibration';
import { gpuOf } from '@coxswain/planner/presets';
import { ClusterMeasurement, type Probe } from './cluster-measurement.ts';
import { fitProfile, PROFILE_SETTINGS } from './fit-profile.ts';
import { predictProbe, type ProbedCluster } from './predict-probe.ts';

const H100: ProbedCluster = {
  cluster: {
    gpu: gpuOf('h100'),
    gpus: 16,
    gpusPerNode: 8,
    hostMemoryGibPerNode: gpuOf('h100').hostMemoryGibPerNode,
    scaleUpDomainGpus: 8,
    scaleOutGbPerS: 50,
    nicKind: 'infiniband',
  },
  precision: 'bf16',
  flashAttention: true,
};
const USUAL = constantsFor(CALIBRATION, H100.cluster.gpu.silicon, 'plain PyTorch');

const step = (layers: number, hidden: number, length: number, [tensor, data]: readonly [number, number]): Probe => ({
  kind: 'step',
  layers,
  hidden,
  heads: hidden / 128,
  ffn: 4 * hidden,
  vocabulary: 4096,
  length,
  batch: 2,
  microBatches: 1,
  tensor,
  data,
  seconds: 1,
});
const collective = (size: number, stride: number, bytes: number): Probe => ({
  kind: 'collective',
  operation: 'allGather',
  size,
  stride,
  bytes,
  seconds: 1,
});
const PROBES: readonly Probe[] = [
  { kind: 'product', m: 4096, n: 4096, k: 4096, seconds: 1 },
  { kind: 'product', m: 8192, n: 8192, k: 8192, seconds: 1 },
  step(1, 1024, 1024, [1, 1]),
  step(3, 1024, 1024, [1, 1]),
  step(2, 4096, 2048, [1, 1]),
  step(2, 4096, 2048, [8, 2]),
  ...[2 ** 16, 2 ** 22, 2 ** 28].flatMap((bytes) => [collective(8, 1, bytes), collective(2, 8, bytes)]),
];

/** What would be measured where some constants are so many times as large as usual. */
function measuredWith(factors: Readonly<Record<string, number>>): readonly Probe[] {
  const changes = Object.entries(factors).map(([constant, factor]) => ({ constant, factor }));
  const constants = withProfile(USUAL, { name: 'the truth', factors: changes }, 'plain PyTorch');
  return PROBES.map((probe) => ({ ...probe, seconds: predictProbe(probe, H100, constants) ?? 1 }));
}

const worstPct = (fitted: ReturnType<typeof fitProfile>): number =>
  Math.max(...fitted.probes.map(({ calibratedS, measuredS }) => 100 * Math.abs(calibratedS / measuredS - 1)));

describe('a profile', () => {
  it('says nothing of a cluster that is as usual', () => {
    expect(fitProfile('usual', measuredWith({}), H100, PROFILE_SETTINGS.gpu).profile.factors).toEqual([]);
  });

  it.each([
    ['slow products', { gemmSlowdown: 1.3 }],
    ['a slow network between nodes', { scaleOutSlowdown: 2 }],
    ['slow NVLink', { scaleUpSlowdown: 1.5 }],
    ['products and network at once', { gemmSlowdown: 1.2, scaleOutSlowdown: 1.6 }],
  ])('explains %s within five percent', (_says, factors) => {
    const fitted = fitProfile('here', measuredWith(factors), H100, PROFILE_SETTINGS.gpu);
    expect(worstPct(fitted)).toBeLessThan(5);
    const learnt = new Map(fitted.profile.factors.map(({ constant, factor }) => [constant, factor]));
    for (const [constant, factor] of Object.entries(factors)) {
      expect((learnt.get(constant) ?? 1) / factor).toBeGreaterThan(0.85);
      expect((learnt.get(constant) ?? 1) / factor).toBeLessThan(1.15);
    }
  });

  it('is hardly moved by one probe that went wrong', () => {
    const probes = measuredWith({ gemmSlowdown: 1.2 }).with(1, {
      kind: 'product',
      m: 8192,
      n: 8192,
      k: 8192,
      seconds: 5,
    });
    const { profile } = fitProfile('here', probes, H100, PROFILE_SETTINGS.gpu);
    const products = profile.factors.find(({ constant }) => constant === 'gemmSlowdown');
    expect(products?.factor).toBeGreaterThan(1.1);
    expect(products?.factor).toBeLessThan(1.35);
  });
});

/** Two cores shared by four ranks; the jobs were measured in the same minutes and are in no probe (examples/calibration/README.md). */
describe('the profile of four CPU ranks', () => {
  const file = resolve(import.meta.dirname, '../../../../examples/calibration/four-cpu-ranks.json');
  const measured = ClusterMeasurement.parse(JSON.parse(readFileSync(file, 'utf8')));
  const gpu = gpuOf('cpu');
  const cluster: ClusterFacts = {
    gpu,
    gpus: 4,
    gpusPerNode: 2,
    hostMemoryGibPerNode: gpu.hostMemoryGibPerNode,
    scaleUpDomainGpus: 2,
    scaleOutGbPerS: gpu.nicGbps / 8,
    nicKind: gpu.nicKind,
  };
  const where = { cluster, precision: measured.precision, flashAttention: true };
  const { profile } = fitProfile('here', measured.probes, where, PROFILE_SETTINGS.standIn);

  const request: PlanRequestInput = {
    modelShape: {
      layers: 4,
      hiddenSize: 128,
      ffnHiddenSize: 512,
      attentionHeads: 4,
      keyValueHeads: 4,
      headDim: 32,
      vocabularySize: 256,
      rmsNorm: true,
      linearBias: false,
      gatedMlp: false,
      dropout: false,
      tiedEmbeddings: false,
    },
    cluster: { gpu: 'cpu', gpus: 4, gpusPerNode: 2, scaleUpDomainGpus: 2 },
    globalBatchSize: 8,
    sequenceLength: 128,
    precision: 'fp32',
    stack: 'reference',
  };
  const layout = (text: Record<string, number>): ParallelLayout => ParallelLayout.parse(text);
  const cases: readonly [says: string, layout: Record<string, number>, microBatchSize: number, measuredMs: number][] = [
    ['the quickstart’s job, tensor 2 and data 2', { tensorParallelDegree: 2, dataParallelDegree: 2 }, 4, 262],
    ['data 4', { dataParallelDegree: 4 }, 2, 192],
    ['tensor 2 and pipeline 2', { tensorParallelDegree: 2, pipelineParallelDegree: 2 }, 4, 304],
    ['pipeline 2 and data 2', { pipelineParallelDegree: 2, dataParallelDegree: 2 }, 2, 209],
  ];
  it.each(cases)('predicts %s within a quarter', (_says, degrees, microBatchSize, measuredMs) => {
    const asked = { layout: layout(degrees), microBatchSize };
    const known = parsePlanRequest({ ...request, cluster: { ...request.cluster, profile } });
    const errorPct = 100 * ((1_000 * predict(known, asked).stepTimeS) / measuredMs - 1);
    expect(Math.abs(errorPct)).toBeLessThan(25);
  });

  it('does so better than what is usual', () => {
    const errors = (input: PlanRequestInput): number =>
      cases.reduce((sum, [, degrees, microBatchSize, measuredMs]) => {
        const asked = { layout: layout(degrees), microBatchSize };
        return sum + Math.abs(Math.log((1_000 * predict(parsePlanRequest(input), asked).stepTimeS) / measuredMs));
      }, 0);
    expect(errors({ ...request, cluster: { ...request.cluster, profile } })).toBeLessThan(0.8 * errors(request));
  });
});

/** One GPU; the jobs were measured in the same minutes by `engines/measure`, in eager PyTorch, and are in no probe (examples/calibration/README.md). */
describe('the profile of one H100', () => {
  const file = resolve(import.meta.dirname, '../../../../examples/calibration/one-h100.json');
  const measured = ClusterMeasurement.parse(JSON.parse(readFileSync(file, 'utf8')));
  const cluster: ClusterFacts = { ...H100.cluster, gpus: 1, gpusPerNode: 1, scaleUpDomainGpus: 1 };
  const where = { cluster, precision: measured.precision, flashAttention: true };
  const { profile } = fitProfile('here', measured.probes, where, PROFILE_SETTINGS.gpu);

  type Shape = NonNullable<PlanRequestInput['modelShape']>;
  const gpt = (layers: number, hiddenSize: number, attentionHeads: number): Shape => ({
    ...{ layers, hiddenSize, ffnHiddenSize: 4 * hiddenSize, attentionHeads, keyValueHeads: attentionHeads },
    ...{ headDim: hiddenSize / attentionHeads, vocabularySize: 50_304, tiedEmbeddings: true },
    ...{ rmsNorm: false, linearBias: true, gatedMlp: false, dropout: false },
  });
  const LLAMA = { rmsNorm: true, linearBias: false, gatedMlp: true, dropout: false } as const;
  const TINY_LLAMA: Shape = {
    ...{ layers: 22, hiddenSize: 2048, ffnHiddenSize: 5632, attentionHeads: 32, keyValueHeads: 4, headDim: 64 },
    ...{ ...LLAMA, vocabularySize: 32_000, tiedEmbeddings: false },
  };
  const LLAMA_1B: Shape = {
    ...{ layers: 16, hiddenSize: 2048, ffnHiddenSize: 8192, attentionHeads: 32, keyValueHeads: 8, headDim: 64 },
    ...{ ...LLAMA, vocabularySize: 128_256, tiedEmbeddings: true },
  };
  const LLAMA_3B: Shape = {
    ...{ layers: 28, hiddenSize: 3072, ffnHiddenSize: 8192, attentionHeads: 24, keyValueHeads: 8, headDim: 128 },
    ...{ ...LLAMA, vocabularySize: 128_256, tiedEmbeddings: true },
  };
  const cases: readonly [says: string, shape: Shape, tokens: number, samples: number, measuredMs: number][] = [
    ['GPT-760M', gpt(24, 1536, 16), 2048, 4, 113.9],
    ['GPT-1.3B', gpt(24, 2048, 16), 2048, 4, 169.8],
    ['GPT-2.7B', gpt(32, 2560, 32), 2048, 2, 201.5],
    ['TinyLlama-1.1B', TINY_LLAMA, 4096, 2, 164.7],
    ['Llama-3.2-1B', LLAMA_1B, 4096, 2, 180.9],
    ['Llama-3.2-3B', LLAMA_3B, 2048, 1, 161.1],
  ];
  function errorPct(what: (typeof cases)[number], isCalibrated: boolean): number {
    const [, modelShape, sequenceLength, samples, measuredMs] = what;
    const known = parsePlanRequest({
      modelShape,
      cluster: { gpu: 'h100', gpus: 1, gpusPerNode: 1, ...(isCalibrated ? { profile } : {}) },
      globalBatchSize: samples,
      sequenceLength,
      precision: 'bf16',
      stack: 'reference',
    });
    const { stepTimeS } = predict(known, { layout: ParallelLayout.parse({}), microBatchSize: samples });
    return 100 * Math.abs((1_000 * stepTimeS) / measuredMs - 1);
  }

  it.each(cases)('predicts %s within ten percent', (...what) => {
    expect(errorPct(what, true)).toBeLessThan(10);
  });

  it('does so much better than what is usual', () => {
    const sum = (isCalibrated: boolean): number => cases.reduce((all, what) => all + errorPct(what, isCalibrated), 0);
    expect(sum(true)).toBeLessThan(0.7 * sum(false));
  });
});
