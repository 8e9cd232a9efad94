/** Cost of a block of the model on one rank for one micro-batch: from its work to its three passes. */
import type { RunFacts } from '../facts.ts';
import { COEFFICIENTS, type TimeConstants } from './constants.ts';
import { blockActivationBytes, recomputedLayersShare } from './exchanged-bytes.ts';
import { memoryS, productPassesS, softMax, type KernelFacts, type ProductSize } from './kernels.ts';
import { collectiveS } from './links.ts';

/** Parts of the time of a block. */
export const PARTS = [
  'matrixProducts',
  'attention',
  'memoryBound',
  'recompute',
  'launch',
  'vocabulary',
  'tensorTraffic',
  'contextTraffic',
  'expertTraffic',
  'routing',
  'shardTraffic',
] as const;
/** One of {@link PARTS}. */
export type Part = (typeof PARTS)[number];

/** One block, one micro-batch: the three passes, and where their time goes. */
export interface BlockCost {
  forwardS: number;
  /** Gradient of the input; includes recomputation. */
  backwardInputS: number;
  /** Gradient of the weights. */
  backwardWeightS: number;
  readonly partsS: Float64Array;
}

/** Facts that every block of a run shares. */
export interface BlockInputs {
  readonly run: RunFacts;
  readonly kernels: KernelFacts;
  readonly constants: TimeConstants;
  /** Tokens of one micro-batch on one context rank. */
  readonly tokens: number;
  /** Ways that norms, residuals and dropout are divided. */
  readonly sequenceWays: number;
  /** Host time that CUDA graphs leave of this kind of block. */
  readonly hostShare: number;
}

/** The work of a block, before it is split into passes. */
export interface Work {
  /** Seconds forward, by part. */
  matrixProductsS: number;
  /** Seconds of the products that give the gradients of inputs and of weights. */
  inputGradientS: number;
  weightGradientS: number;
  attentionS: number;
  attentionBackwardS: number;
  memoryS: number;
  memoryBackwardS: number;
  routingS: number;
  tensorTrafficS: number;
  contextTrafficS: number;
  expertTrafficS: number;
  expertTrafficBackwardS: number;
  hostS: number;
  /** Of the forward pass, what the GPU does, and the host launches, while the rest of the block can not be launched yet or is done. */
  apart: { readonly gpuS: number; readonly hostS: number };
  /** Forward seconds that the backward pass computes again. */
  recomputeS: number;
}

/** A block without work. */
export const noWork = (): Work => ({
  matrixProductsS: 0,
  inputGradientS: 0,
  weightGradientS: 0,
  attentionS: 0,
  attentionBackwardS: 0,
  memoryS: 0,
  memoryBackwardS: 0,
  routingS: 0,
  tensorTrafficS: 0,
  contextTrafficS: 0,
  expertTrafficS: 0,
  expertTrafficBackwardS: 0,
  hostS: 0,
  apart: { gpuS: 0, hostS: 0 },
  recomputeS: 0,
});

/** Adds a linear layer [m, k] x [k, n] with its gradients, `times` as long; returns its seconds forward. */
export function multiply(
  { run, kernels }: BlockInputs,
  work: Work,
  size: ProductSize,
  { times = 1, groups = 1 }: { readonly times?: number; readonly groups?: number } = {},
): number {
  const passes = productPassesS(kernels, size, { linear: true, gradientBytes: run.gradientBytes, groups });
  work.matrixProductsS += times * passes.forwardS;
  work.inputGradientS += times * passes.inputGradientS;
  work.weightGradientS += times * passes.weightGradientS;
  return times * passes.forwardS;
}

/** Bytes per element of activations in bf16. */
export const BYTES = 2;
/** Position of each part in {@link PARTS}, and so in the `partsS` of a block. */
export const partIndex = Object.fromEntries(PARTS.map((part, index) => [part, index])) as Readonly<
  Record<Part, number>
>;

/** A frozen matrix (low-rank adapters) needs no weight gradient. */
export const weightShare = (run: RunFacts): number => (run.loraRank > 0 ? COEFFICIENTS.adapterGradientShare : 1);

/** Turns what a block does into its three passes. */
export function costOf(inputs: BlockInputs, work: Work): BlockCost {
  const { run, constants } = inputs;
  const partsS = new Float64Array(PARTS.length);
  const weightS = work.weightGradientS * weightShare(run);
  const recomputeS = recomputedS(inputs, work);
  const forwardGpuS = forwardGpuSOf(work);
  const backwardGpuS =
    work.inputGradientS +
    work.attentionBackwardS +
    work.memoryBackwardS +
    work.routingS +
    work.tensorTrafficS +
    work.contextTrafficS * 2 +
    work.expertTrafficBackwardS +
    recomputeS;
  const recomputeHostS = recomputeS > COEFFICIENTS.relaunchedFrom * forwardGpuS ? work.hostS : 0;
  const { gpuS: apartS, hostS: apartHostS } = work.apart;
  const forwardS = softMax(forwardGpuS - apartS, work.hostS - apartHostS) + softMax(apartS, apartHostS);
  const backwardS = softMax(backwardGpuS + weightS, work.hostS * constants.hostBackward + recomputeHostS);
  const weightPart = weightS / Math.max(backwardGpuS + weightS, 1e-12);
  partsS[partIndex.matrixProducts] = work.matrixProductsS + work.inputGradientS + weightS;
  partsS[partIndex.attention] = work.attentionS + work.attentionBackwardS;
  partsS[partIndex.memoryBound] = work.memoryS + work.memoryBackwardS;
  partsS[partIndex.recompute] = recomputeS;
  partsS[partIndex.routing] = 2 * work.routingS;
  partsS[partIndex.tensorTraffic] = 2 * work.tensorTrafficS;
  partsS[partIndex.contextTraffic] = 3 * work.contextTrafficS;
  partsS[partIndex.expertTraffic] = work.expertTrafficS + work.expertTrafficBackwardS;
  partsS[partIndex.launch] = forwardS + backwardS - forwardGpuS - backwardGpuS - weightS;
  return {
    forwardS,
    backwardInputS: backwardS * (1 - weightPart),
    backwardWeightS: backwardS * weightPart,
    partsS,
  };
}

/** Seconds that the GPU needs forward. */
export const forwardGpuSOf = (work: Work): number =>
  work.matrixProductsS +
  work.attentionS +
  work.memoryS +
  work.routingS +
  work.tensorTrafficS +
  work.contextTrafficS +
  work.expertTrafficS;

/** Seconds of the forward pass that are computed again in the backward pass. */
function recomputedS(inputs: BlockInputs, work: Work): number {
  const { candidate } = inputs.run;
  if (candidate.recompute === 'none') return 0;
  if (candidate.recompute === 'selective') return work.recomputeS;
  return recomputedLayersShare(inputs.run) * forwardGpuSOf(work);
}

/** Whether a run recomputes a module. */
export const recomputes = (run: RunFacts, module: RunFacts['candidate']['recomputeModules'][number]): boolean =>
  run.candidate.recompute === 'selective' && run.candidate.recomputeModules.includes(module);

/** Traffic of one row-parallel and one column-parallel pair forward: an all-reduce, or all-gather and reduce-scatter. */
export function tensorTraffic(inputs: BlockInputs, work: Work, tokens: number): void {
  const { run, constants } = inputs;
  const { tensor, overlapTensor } = run.candidate;
  if (tensor <= 1) return;
  const once = collectiveS(run.cluster, { size: tensor, stride: 1 }, blockActivationBytes(run, tokens), constants);
  work.tensorTrafficS += 2 * once * (overlapTensor ? constants.tensorOverlap : 1);
  work.hostS += constants.hostCollectiveS * (run.candidate.sequenceParallel ? 2 : 1) * inputs.hostShare;
}

/** Casts of activations to fp8 or fp4: read two bytes, write one, and once more transposed for the weight gradient. */
export function quantise(inputs: BlockInputs, elements: number): number {
  if (!inputs.kernels.quantises) return 0;
  return inputs.constants.quantiseFactor * memoryS(inputs.kernels, elements * 4);
}

/** Norm, residual and dropout around a block: bytes per token and hidden element, forward and backward. */
export function aroundBlock(inputs: BlockInputs, work: Work): void {
  const { run, kernels, constants, tokens, sequenceWays } = inputs;
  const bytes = (tokens / sequenceWays) * run.model.hiddenSize * (run.model.dropout ? 12 : 10);
  const forwardS = constants.elementwiseFactor * memoryS(kernels, bytes);
  work.memoryS += forwardS;
  work.memoryBackwardS += COEFFICIENTS.normBackward * forwardS;
  if (recomputes(run, 'layernorm')) work.recomputeS += COEFFICIENTS.normShare * forwardS;
}

/** Adds a cost `times` times to a sum. */
export function addCost(sum: BlockCost, cost: BlockCost, times: number): void {
  if (times === 0) return;
  sum.forwardS += times * cost.forwardS;
  sum.backwardInputS += times * cost.backwardInputS;
  sum.backwardWeightS += times * cost.backwardWeightS;
  for (let part = 0; part < sum.partsS.length; part++) {
    sum.partsS[part] = (sum.partsS[part] ?? 0) + times * (cost.partsS[part] ?? 0);
  }
}

/** A block without cost. */
export const noCost = (): BlockCost => ({
  forwardS: 0,
  backwardInputS: 0,
  backwardWeightS: 0,
  partsS: new Float64Array(PARTS.length),
});
