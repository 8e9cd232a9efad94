/** Predicts one run, as part of an answer. */
import { GIB_BYTES } from '@coxswain/units';
import type { GpuFacts, RunFacts } from '../facts.ts';
import { predictMemory } from '../memory/predict-memory.ts';
import type { RankMemory } from '../memory/rank-memory.ts';
import { parametersOf } from '../memory/parameters.ts';
import type { Prediction } from '../contract.ts';
import { meanKeysOf } from '../time/attended-keys.ts';
import { meanOverGpus } from '../time/islands.ts';
import { STEP_PARTS, predictStepTime } from '../time/step-time.ts';
import { constantsOf, errorsOf } from '../calibration/calibration-in-use.ts';

const TERA = 1e12;

const MEMORY_PARTS = [
  'weights',
  'gradients',
  'optimizer',
  'activations',
  'vocabulary',
  'backward',
  'gathered',
  'workspace',
] as const satisfies readonly (keyof RankMemory)[];

/** Predicted time and memory of a run. `memoryMarginShare` is the share of GPU memory that must stay free for verdict `fits`. */
export function predictRun(run: RunFacts, memoryMarginShare?: number): Prediction {
  const time = predictStepTime(run, constantsOf(run));
  const memory = predictMemory(run, memoryMarginShare === undefined ? {} : { marginShare: memoryMarginShare });
  const tokensPerSPerGpu = (run.globalBatchSize * run.sequenceLength) / time.stepTimeS / run.cluster.gpus;
  return {
    stepTimeS: time.stepTimeS,
    tokensPerSPerGpu,
    modelFlopsUtilizationPct:
      (100 * tokensPerSPerGpu * modelFlopsPerToken(run)) / meanOverGpus(run, (gpu) => peakFlopsPerS(gpu, run)),
    breakdown: STEP_PARTS.map((part) => ({ part, seconds: time.partsS[part] })).filter(({ seconds }) => seconds !== 0),
    memory: memory.stages.map((rank, stage) => ({
      stage,
      peakGib: rank.totalBytes / GIB_BYTES,
      parts: MEMORY_PARTS.map((part) => ({ part, gib: rank[part] / GIB_BYTES })).filter((part) => part.gib > 0),
    })),
    peakGib: memory.peakAllocatedBytes / GIB_BYTES,
    capacityGib: memory.capacityBytes / GIB_BYTES,
    verdict: memory.verdict,
    bubbleShare: Math.min(1, Math.max(0, time.bubbleShare)),
    ...errorsOf(run, { stepTimeS: time.stepTimeS, peakGib: memory.peakAllocatedBytes / GIB_BYTES }),
  };
}

/**
 * Model FLOPs of one token, forward and backward, without recomputation: 6 per active parameter that is multiplied, and causal attention.
 * Half of its scores count. An embedding lookup multiplies nothing.
 */
export function modelFlopsPerToken(run: Pick<RunFacts, 'model' | 'sequenceLength' | 'documentTokens'>): number {
  const { model } = run;
  const parameters = parametersOf(model);
  const head = model.tiedEmbeddings ? model.vocabularySize * model.hiddenSize : 0;
  const multiplied = parameters.active - parameters.embedding + head;
  const attentionLayers = parameters.kindOfLayer.filter((kind) => parameters.kinds[kind]?.mixer === 'attention').length;
  const { latentAttention: latent } = model;
  const width =
    latent === undefined ? 2 * model.headDim : latent.nopeHeadDim + latent.ropeHeadDim + latent.valueHeadDim;
  const keys = meanKeysOf(run);
  return 6 * multiplied + 6 * attentionLayers * model.attentionHeads * width * keys;
}

/** Of the format that matrix products run in. */
function peakFlopsPerS(gpu: GpuFacts, { precision }: Pick<RunFacts, 'precision'>): number {
  if (precision === 'nvfp4' && gpu.fp4Tflops > 0) return gpu.fp4Tflops * TERA;
  const isFp8 = precision === 'fp8' || precision === 'mxfp8';
  return (isFp8 && gpu.fp8Tflops > 0 ? gpu.fp8Tflops : gpu.bf16Tflops) * TERA;
}
