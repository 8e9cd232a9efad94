/**
 * Bytes that weights, gradients and optimizer states take per parameter.
 *
 * Sources: Rajbhandari et al. 2020 (arXiv 1910.02054) section 3; Megatron-LM's memory estimator (18, or 6 + 12 / D with the distributed
 * optimizer); DeepSpeed's bf16 optimizer, which accumulates gradients in fp32 beside the bf16 ones.
 */
import type { CandidateLayout, Precision } from '../facts.ts';

/** Bytes per parameter of a rank's share of the model, before any sharding over data-parallel ranks. */
export interface StateBytes {
  readonly weights: number;
  readonly gradients: number;
  /** Master weights and moments. */
  readonly optimizer: number;
}

/** Inputs of {@link stateBytesOf}. */
export interface StateFacts {
  readonly precision: Precision;
  readonly gradientBytes: 2 | 4;
  readonly zeroStage: CandidateLayout['zeroStage'];
  readonly zeroImplementation: CandidateLayout['zeroImplementation'];
  /** Both Adam moments; 8 in fp32, 2 with 8-bit Adam. */
  readonly momentBytes: number;
  /** Gradients are kept in bf16 and, added up, in fp32 (DeepSpeed's bf16 optimizer below stage 2). */
  readonly keepsBothGradients: boolean;
}

/** Bytes per parameter of both Adam moments in fp32. */
export const ADAM_MOMENT_BYTES = 8;
const HALF_BYTES = 2;
const MASTER_BYTES = 4;
const FP32_BYTES = 4;

/**
 * What matrices in a low-precision format take beside or instead of two bytes of bf16. Per-tensor fp8: weight and transpose, gathered in
 * fp8, so no bf16 copy. mxfp8: row- and column-wise copies with a scale per 32 elements, instead of bf16. nvfp4: both copies with a scale
 * per 16 elements, beside bf16 weights. These are the defaults of Megatron-Bridge's mixed-precision recipes.
 */
const QUANTIZED_EXTRA_BYTES: Readonly<Record<Precision, number>> = {
  fp32: 0,
  fp16: 0,
  bf16: 0,
  fp8: 0,
  mxfp8: 2 / 32,
  nvfp4: 2 * (1 / 2 + 1 / 16),
};

/** Bytes per matrix parameter on top of two of bf16; vocabulary and norms stay in bf16. */
export function quantizedExtraBytesOf(precision: Precision): number {
  return QUANTIZED_EXTRA_BYTES[precision];
}

/** Bytes of states per parameter. PyTorch FSDP shards fp32 parameters, which are the master weights, with fp32 gradients. */
export function stateBytesOf(facts: StateFacts): StateBytes {
  if (facts.precision === 'fp32') return { weights: FP32_BYTES, gradients: FP32_BYTES, optimizer: facts.momentBytes };
  if (facts.zeroImplementation === 'fsdp' && facts.zeroStage === 3) {
    return { weights: FP32_BYTES, gradients: FP32_BYTES, optimizer: facts.momentBytes };
  }
  return {
    weights: HALF_BYTES,
    gradients: gradientBytesOf(facts),
    optimizer: MASTER_BYTES + facts.momentBytes,
  };
}

function gradientBytesOf(facts: StateFacts): number {
  const both = facts.keepsBothGradients && facts.precision === 'bf16' && facts.zeroStage < 2;
  return both && facts.gradientBytes === FP32_BYTES ? HALF_BYTES + FP32_BYTES : facts.gradientBytes;
}

/** Moments that GaLore keeps of a matrix, as a share of Adam's: two in the projected space, and the projector (arXiv 2403.03507). */
export function galoreMomentShare(rows: number, columns: number, rank: number): number {
  const smaller = Math.min(rows, columns);
  const larger = Math.max(rows, columns);
  return (2 * rank * larger + smaller * rank) / (2 * rows * columns);
}

/** Number of ranks that share the states of one parameter: of dense weights (data and context ranks) and of experts. */
export function shardDegreesOf(candidate: CandidateLayout): { readonly dense: number; readonly expert: number } {
  const replicas = (candidate.data * candidate.context) / candidate.shardGroup;
  const expertData =
    (candidate.tensor * candidate.context * candidate.data) / (candidate.expert * candidate.expertTensor);
  return { dense: candidate.shardGroup, expert: Math.max(1, expertData / replicas) };
}

/** Bytes per parameter that stay on one GPU, without what stage 3 gathers for computation. */
export function shardedStateBytes(
  bytes: StateBytes,
  zeroStage: CandidateLayout['zeroStage'],
  degree: number,
): StateBytes {
  return {
    weights: bytes.weights / (zeroStage === 3 ? degree : 1),
    gradients: bytes.gradients / (zeroStage >= 2 ? degree : 1),
    optimizer: bytes.optimizer / (zeroStage >= 1 ? degree : 1),
  };
}
