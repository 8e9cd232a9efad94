/** Bytes of each exchange between ranks, for the time model and for placement. */
import type { ModelShape } from '@coxswain/layout';
import type { RunFacts } from '../facts.ts';
import { COEFFICIENTS } from './constants.ts';
import { elementBytesOf, isQuantised } from './kernels.ts';

/** Of an activation, and of a weight that is gathered. */
const BYTES = 2;

/** Tokens of one micro-batch on one context rank. */
export function tokensPerRank({ candidate, sequenceLength }: RunFacts): number {
  return (candidate.microBatchSize * sequenceLength) / candidate.context;
}

/** Activations around a block: what a tensor group gathers or scatters at once. */
export function blockActivationBytes(run: RunFacts, tokens: number): number {
  return tokens * run.model.hiddenSize * elementBytesOf(run.precision);
}

/** Activations of one micro-batch that one rank hands to the next stage. */
export function boundaryBytes(run: RunFacts): number {
  return blockActivationBytes(run, tokensPerRank(run)) / (run.candidate.sequenceParallel ? run.candidate.tensor : 1);
}

/** Heads of attention on one tensor rank. */
export interface AttentionHeads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly queryDim: number;
  readonly valueDim: number;
}

/** Latent attention expands its keys and values to one head per query head. */
export function attentionHeadsOf(model: ModelShape, tensor: number): AttentionHeads {
  const heads = model.attentionHeads / tensor;
  const { latentAttention: latent } = model;
  if (latent === undefined) {
    const kvHeads = Math.max(1, model.keyValueHeads / tensor);
    return { heads, kvHeads, queryDim: model.headDim, valueDim: model.headDim };
  }
  return { heads, kvHeads: heads, queryDim: latent.nopeHeadDim + latent.ropeHeadDim, valueDim: latent.valueHeadDim };
}

/** Keys and values of the tokens of one context rank: what a ring passes on, and what an all-gather collects from each. */
export function keyValueBytes(tokens: number, { kvHeads, queryDim, valueDim }: AttentionHeads): number {
  return tokens * kvHeads * (queryDim + valueDim) * BYTES;
}

/** Bytes of queries, keys, values and outputs of the tokens of one context rank, which Ulysses exchanges by heads. */
export function headExchangeBytes(tokens: number, { heads, kvHeads, queryDim, valueDim }: AttentionHeads): number {
  return tokens * (2 * heads * queryDim + kvHeads * (queryDim + valueDim)) * BYTES;
}

/** Tokens of one micro-batch that a layer of experts processes on one rank. */
export interface RoutedTokens {
  /** That enter the router; with sequence parallelism the tensor ranks share them. */
  readonly tokens: number;
  /** Elements of one token on its way to an expert. */
  readonly width: number;
  /** Copies of tokens that go to experts. */
  readonly routed: number;
}

/** The routed tokens of a run. */
export function routedTokensOf({ model, candidate }: RunFacts, tokens: number): RoutedTokens {
  const { experts } = model;
  if (experts === undefined) return { tokens: 0, width: 0, routed: 0 };
  const entering = tokens / candidate.tensor;
  const kept = Math.min(1, candidate.expertCapacity ?? Infinity);
  return { tokens: entering, width: experts.latentSize || model.hiddenSize, routed: entering * experts.topK * kept };
}

/** Bytes of tokens, or copies of them, that are sent to experts or back. */
export function expertTokenBytes(tokens: number, { width }: RoutedTokens): number {
  return tokens * width * BYTES;
}

/** Bytes per parameter that move among the ranks that hold the same one. */
export interface StateBytes {
  /** Gradients to their owners. */
  readonly reduced: number;
  /** Weights from their owners; of unsharded states the summed gradients. */
  readonly returned: number;
  /** Weights that are gathered before use; stage 3. */
  readonly gathered: number;
}

/** Bytes per parameter that data-parallel ranks exchange. */
export function stateBytesOf({ candidate, precision, gradientBytes }: RunFacts): StateBytes {
  const returnsGradients = candidate.zeroStage === 0 || candidate.zeroStage === 3;
  return {
    reduced: gradientBytes,
    returned: returnsGradients ? gradientBytes : isQuantised(precision) ? 1 : elementBytesOf(precision),
    gathered: elementBytesOf(precision),
  };
}

/** Share of the parameters that has gradients: only adapters, or all. */
export function trainedShareOf({ loraRank }: Pick<RunFacts, 'loraRank'>): number {
  return loraRank > 0 ? COEFFICIENTS.adapterTrainedShare : 1;
}

/** Share of the layers whose forward pass, exchanges included, runs again in the backward pass. */
export function recomputedLayersShare({ candidate, model }: RunFacts): number {
  if (candidate.recompute !== 'full') return 0;
  const perChunk = candidate.recomputeLayersPerChunk ?? Infinity;
  return Math.min(1, (perChunk * candidate.pipeline * candidate.chunks) / model.layers);
}
