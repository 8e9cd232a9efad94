/**
 * Bytes of activations that one layer keeps for its backward pass, for one micro-batch on one GPU.
 *
 * Sources: Korthikanti et al. 2022 (arXiv 2205.05198) table 2 for dense layers; the tensors that Megatron-Core saves for gated MLPs, grouped
 * queries, latent attention and experts.
 */
import type { ModelShape } from '@coxswain/layout';

import type { CandidateLayout, Precision, RecomputeModule, RunFacts } from '../facts.ts';
import type { LayerKind } from './parameters.ts';

/** What one layer keeps, in bytes. */
export interface LayerActivations {
  /** Kept from the forward to the backward pass of every micro-batch in flight. */
  readonly kept: number;
  /** Additional bytes during the backward pass of this layer: recomputed activations and gradients of attention scores. */
  readonly transient: number;
}

/** Inputs of activations besides the model. */
export interface ActivationFacts {
  /** Tokens of one micro-batch on one context rank. */
  readonly tokens: number;
  readonly sequenceLength: number;
  readonly tensor: number;
  readonly expertTensor: number;
  readonly sequenceParallel: boolean;
  readonly flashAttention: boolean;
  readonly recompute: CandidateLayout['recompute'];
  readonly recomputeModules: readonly RecomputeModule[];
  /** Tokens of the busiest rank's experts relative to an even share. */
  readonly expertLoad: number;
  /** 2 for half precision, 4 for fp32. */
  readonly elementBytes: number;
  /** The input of a matrix product is kept in the format it runs in. */
  readonly inputBytes: number;
}

const MASK_BYTES = 1;

/** An element of a matrix product's input as the backward pass reads it, block scales included. */
const INPUT_BYTES: Readonly<Record<Precision, number>> = {
  fp32: 4,
  fp16: 2,
  bf16: 2,
  fp8: 1,
  mxfp8: 1 + 1 / 32,
  nvfp4: 1 / 2 + 1 / 16,
};
const FP32_BYTES = 4;

/** Assumed load of the busiest rank with dropless routing, relative to an even share. */
export const DROPLESS_EXPERT_LOAD = 1;

/** The activation inputs of a run. */
export function activationFactsOf(run: RunFacts): ActivationFacts {
  const { candidate } = run;
  return {
    tokens: (candidate.microBatchSize * run.sequenceLength) / candidate.context,
    sequenceLength: run.sequenceLength,
    tensor: candidate.tensor,
    expertTensor: candidate.expertTensor,
    sequenceParallel: candidate.sequenceParallel,
    flashAttention: run.flashAttention,
    recompute: candidate.recompute,
    recomputeModules: candidate.recomputeModules,
    expertLoad: candidate.expertCapacity ?? DROPLESS_EXPERT_LOAD,
    elementBytes: run.precision === 'fp32' ? FP32_BYTES : 2,
    inputBytes: INPUT_BYTES[run.precision],
  };
}

/** Bytes per token of the parts of a layer, each already divided over the tensor ranks; a part that is dropped is computed again. */
interface Parts {
  /** Inputs of the norms. */
  normInput: number;
  normOutput: number;
  core: number;
  attention: number;
  latentUpProjection: number;
  mlp: number;
  mamba: number;
  sharedExperts: number;
  expertActivation: number;
  /** Everything else between the norm and the end of an expert layer. */
  experts: number;
}

/** Bytes per token of attention scores; with a flash kernel, of the softmax's sums. */
function scoreBytes(model: ModelShape, facts: ActivationFacts): number {
  const heads = model.attentionHeads / facts.tensor;
  if (facts.flashAttention) return FP32_BYTES * heads;
  const { elementBytes: e } = facts;
  return facts.sequenceLength * heads * (model.dropout ? 2 * e + MASK_BYTES : e);
}

/** Linear attention keeps no scores: its state does not grow with the sequence. */
function attentionParts(parts: Parts, model: ModelShape, facts: ActivationFacts, isLinear: boolean): void {
  const { tensor: t, elementBytes: e } = facts;
  const { attentionHeads: a, latentAttention: latent } = model;
  // Attention reads its own output in its backward pass, so a quantized input of the projection is kept besides.
  const quantized = facts.inputBytes < e ? facts.inputBytes : 0;
  parts.core += isLinear ? 0 : scoreBytes(model, facts);
  if (latent === undefined) {
    parts.attention += ((2 * e * (a + model.keyValueHeads) + quantized * a) * model.headDim) / t;
    return;
  }
  const keyWidth = latent.nopeHeadDim + latent.ropeHeadDim;
  parts.attention += 2 * e * (latent.queryRank + latent.keyValueRank) + e * latent.ropeHeadDim;
  parts.attention += ((e + quantized) * a * latent.valueHeadDim) / t;
  parts.latentUpProjection += (e * a * (2 * keyWidth + latent.nopeHeadDim + latent.valueHeadDim)) / t;
}

/** Bytes per token of an MLP after its input: what the activation function reads and what it writes. */
function mlpBytes(
  model: ModelShape,
  innerWidth: number,
  facts: ActivationFacts,
): { readonly before: number; readonly after: number } {
  return {
    before: facts.elementBytes * (model.gatedMlp ? 2 : 1) * innerWidth,
    after: facts.inputBytes * innerWidth,
  };
}

function expertParts(parts: Parts, model: ModelShape, facts: ActivationFacts): void {
  const { experts } = model;
  if (experts === undefined) return;
  const { tensor: t } = facts;
  // With sequence parallelism a rank routes its share of the tokens, and expert-tensor ranks gather those of each other.
  const routed = facts.sequenceParallel ? 1 / t : 1;
  const gathered = facts.sequenceParallel ? facts.expertTensor / t : 1;
  const copies = experts.topK * facts.expertLoad;
  const width = experts.latentSize > 0 ? experts.latentSize : model.hiddenSize;
  const inner = mlpBytes(model, experts.ffnHiddenSize, facts);
  const innerShare = (copies * gathered) / facts.expertTensor;
  parts.experts += copies * gathered * facts.inputBytes * width + innerShare * inner.before;
  parts.experts += FP32_BYTES * 2 * experts.count * routed;
  parts.expertActivation += innerShare * inner.after;
  if (experts.sharedFfnHiddenSize > 0) {
    const shared = mlpBytes(model, experts.sharedFfnHiddenSize, facts);
    parts.sharedExperts += (shared.before + shared.after) / t;
  }
}

function mambaParts(parts: Parts, model: ModelShape, facts: ActivationFacts): void {
  const ssm = model.stateSpace;
  if (ssm === undefined) return;
  const inner = ssm.heads * ssm.headDim;
  const convolved = inner + 2 * ssm.groups * ssm.stateSize;
  parts.mamba += (facts.elementBytes * (inner + convolved + ssm.heads + convolved + 2 * inner)) / facts.tensor;
}

function partsOf(model: ModelShape, kind: LayerKind, facts: ActivationFacts): Parts {
  const { elementBytes: e, tensor: t } = facts;
  const outside = facts.sequenceParallel ? t : 1;
  const blocks = (kind.mixer === 'none' ? 0 : 1) + (kind.feedForward === 'none' ? 0 : 1);
  const width = model.hiddenSize / outside;
  const parts: Parts = {
    normInput: blocks * width * (e + (model.dropout ? MASK_BYTES : 0)),
    normOutput: blocks * width * facts.inputBytes,
    core: 0,
    attention: 0,
    latentUpProjection: 0,
    mlp: 0,
    mamba: 0,
    sharedExperts: 0,
    expertActivation: 0,
    experts: 0,
  };
  if (kind.mixer === 'attention' || kind.mixer === 'linear-attention') {
    attentionParts(parts, model, facts, kind.mixer === 'linear-attention');
  }
  if (kind.mixer === 'mamba') mambaParts(parts, model, facts);
  if (kind.feedForward === 'mlp') {
    const inner = mlpBytes(model, model.ffnHiddenSize, facts);
    parts.mlp += (inner.before + inner.after) / t;
  }
  if (kind.feedForward === 'experts') expertParts(parts, model, facts);
  return parts;
}

function sumOf(parts: Parts): number {
  return (
    parts.normInput +
    parts.normOutput +
    parts.core +
    parts.attention +
    parts.latentUpProjection +
    parts.mlp +
    parts.mamba +
    parts.sharedExperts +
    parts.expertActivation +
    parts.experts
  );
}

function droppedBy(module: RecomputeModule, parts: Parts): number {
  switch (module) {
    case 'core_attn':
      return parts.core;
    case 'layernorm':
      return parts.normOutput;
    case 'mlp':
      return parts.mlp;
    case 'mla_up_proj':
      return parts.latentUpProjection;
    case 'moe':
      return parts.experts + parts.expertActivation + parts.sharedExperts;
    case 'moe_act':
      return parts.expertActivation;
    case 'shared_experts':
      return parts.sharedExperts;
    case 'mamba':
      return parts.mamba;
  }
}

/** `moe` contains `moe_act` and `shared_experts`: what is dropped twice counts once. */
function droppedBytes(modules: readonly RecomputeModule[], parts: Parts): number {
  const whole = modules.includes('moe');
  let dropped = 0;
  for (const module of modules) {
    if (whole && (module === 'moe_act' || module === 'shared_experts')) continue;
    dropped += droppedBy(module, parts);
  }
  return dropped;
}

/** What one layer keeps without recomputation, by the run's recompute setting; `fully` layers keep only their input. */
export function layerActivationsOf(
  model: ModelShape,
  kind: LayerKind,
  facts: ActivationFacts,
  fully = facts.recompute === 'full',
): LayerActivations {
  const parts = partsOf(model, kind, facts);
  const all = sumOf(parts) * facts.tokens;
  const scoreGradients = facts.flashAttention ? 0 : parts.core * facts.tokens;
  if (fully) {
    const input = (facts.elementBytes * model.hiddenSize * facts.tokens) / (facts.sequenceParallel ? facts.tensor : 1);
    return { kept: input, transient: Math.max(0, all - input) + scoreGradients };
  }
  const dropped = facts.recompute === 'selective' ? droppedBytes(facts.recomputeModules, parts) * facts.tokens : 0;
  return { kept: all - dropped, transient: dropped + scoreGradients };
}
