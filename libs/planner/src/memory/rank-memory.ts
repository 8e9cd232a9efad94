/** The memory of one GPU of a pipeline rank at its peak. */
import { isVShaped } from '../stages.ts';
import type { LayerActivations } from './activations.ts';
import { isVocabularySharded, type MemoryFacts } from './memory-facts.ts';
import { denseShareOf, expertShareOf, type LayerParameters } from './parameters.ts';
import type { RankLoad } from './pipeline-load.ts';

const HALF_BYTES = 2;

/** Peak of one GPU of a pipeline rank, in bytes. All fields but `hostBytes` sum to `totalBytes`. */
export interface RankMemory {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Of all micro-batches in flight. */
  readonly activations: number;
  /** Logits and their fp32 copies at the loss. */
  readonly vocabulary: number;
  /** Additional memory of the backward pass of one layer: recomputed activations and gradients of attention scores. */
  readonly backward: number;
  /** Weights and gradients gathered for computation (stage 3) or waiting to be reduced (stage 2). */
  readonly gathered: number;
  /** Dummy weight gradients and copies of the optimizer step. */
  readonly workspace: number;
  readonly totalBytes: number;
  /** Host memory of offloaded states and activations of this GPU. */
  readonly hostBytes: number;
}

/** Contents of a rank before sharding and offloading; equal for every ZeRO stage. */
export interface RankContents {
  readonly parameters: RankParameters;
  readonly activations: RankActivations;
}

/** The contents of a rank. */
export function rankContentsOf(memory: MemoryFacts, load: RankLoad): RankContents {
  return { parameters: rankParametersOf(memory, load), activations: rankActivationsOf(memory, load) };
}

/** The memory of a rank. `contents` can be reused for other states on the same mesh with the same passes. */
export function rankMemoryOf(
  memory: MemoryFacts,
  load: RankLoad,
  contents: RankContents = rankContentsOf(memory, load),
): RankMemory {
  const { candidate, dense, expert, trainedShare } = memory;
  const held = contents.parameters;
  const densely = held.dense + held.vocabulary;
  const quantized = candidate.zeroStage === 3 ? 0 : held.quantized * memory.quantizedBytes;
  const frozen = densely * dense.weights + held.expert * expert.weights;
  const allWeights = frozen * (1 + memory.adapterShare) + quantized;
  const allOptimizer = (densely * dense.optimizer + held.expert * expert.optimizer) * trainedShare;
  const gradients = (densely * dense.gradients + held.expert * expert.gradients) * trainedShare;
  const { kept, transient, largest } = contents.activations;
  const weights = allWeights * (1 - candidate.offloadWeights);
  const optimizer = allOptimizer * (1 - candidate.offloadOptimizer);
  const activations = kept - candidate.offloadActivations * Math.max(0, kept - OFFLOAD_BUFFERS * largest);
  const vocabulary = load.loss || isVocabularySharded(candidate) ? memory.lossBytes * (1 + load.mtpLayers) : 0;
  const backward = Math.max(0, transient - vocabulary);
  const gathered = gatheredBytesOf(memory, held);
  const standing = standingWorkspaceOf(memory, held);
  const step = (densely * memory.stepCopyBytes.dense + held.expert * memory.stepCopyBytes.expert) * trainedShare;
  const workspace = standing + Math.max(0, step - (activations + vocabulary + backward + gathered + standing));
  return {
    weights,
    gradients,
    optimizer,
    activations,
    vocabulary,
    backward,
    gathered,
    workspace,
    totalBytes: weights + gradients + optimizer + activations + vocabulary + backward + gathered + workspace,
    hostBytes: allWeights - weights + (allOptimizer - optimizer) + (kept - activations),
  };
}

/** What stands beside the states during the whole step. */
function standingWorkspaceOf({ profile, candidate }: MemoryFacts, held: RankParameters): number {
  const inPlace = candidate.zeroImplementation === 'distopt' || candidate.zeroImplementation === 'ddp';
  const dummies = profile.dummyGradients && inPlace ? held.distinct * HALF_BYTES : 0;
  const copiesGradients =
    candidate.zeroImplementation === 'deepspeed' && candidate.zeroStage === 1 && candidate.pipeline === 1;
  const copies = copiesGradients ? (held.dense + held.expert + held.vocabulary) * profile.gradientCopyBytes : 0;
  return dummies + copies;
}

/** Parameters that one GPU of a rank holds before data-parallel sharding, and the largest unit that stage 3 gathers at once. */
interface RankParameters {
  readonly dense: number;
  readonly expert: number;
  readonly vocabulary: number;
  readonly quantized: number;
  readonly largestUnit: number;
  readonly distinct: number;
}

function vocabularyParametersOf(memory: MemoryFacts, load: RankLoad): number {
  const { parameters, candidate, model } = memory;
  if (isVocabularySharded(candidate)) {
    const head = model.vocabularySize * model.hiddenSize; // a vocabulary spread over the pipeline cannot tie its ends
    return (parameters.embedding + head) / (candidate.tensor * candidate.pipeline);
  }
  const embedding = load.embedding || load.mtpLayers > 0 ? parameters.embedding : 0;
  const headNeeded = load.loss && !(model.tiedEmbeddings && embedding > 0);
  return (embedding + (headNeeded ? model.vocabularySize * model.hiddenSize : 0)) / candidate.tensor;
}

function rankParametersOf(memory: MemoryFacts, load: RankLoad): RankParameters {
  const { parameters, candidate } = memory;
  let dense = load.loss ? parameters.finalNorm : 0;
  let expert = 0;
  let quantized = 0;
  let largestUnit = 0;
  let distinct = 0;
  const add = (layer: LayerParameters, count: number): void => {
    const denseShare = denseShareOf(layer, candidate);
    const expertShare = expertShareOf(layer, candidate);
    dense += count * denseShare;
    expert += count * expertShare;
    quantized += count * (layer.tensorSharded / candidate.tensor + expertShare);
    largestUnit = Math.max(largestUnit, denseShare + expertShare);
    const shapes = layer.distinctSharded / candidate.tensor + layer.distinctReplicated;
    distinct = Math.max(distinct, shapes + layer.distinctRouted / candidate.expertTensor);
  };
  for (let kind = 0; kind < load.layers.length; kind += 1) {
    const layer = parameters.perKind[kind];
    const count = load.layers[kind] ?? 0;
    if (layer !== undefined && count > 0) add(layer, count);
  }
  if (load.mtpLayers > 0) add(parameters.mtpLayer, load.mtpLayers);
  return { dense, expert, quantized, largestUnit, distinct, vocabulary: vocabularyParametersOf(memory, load) };
}

interface RankActivations {
  readonly kept: number;
  readonly transient: number;
  /** Kept by one layer of one micro-batch, of the kind that keeps most. */
  readonly largest: number;
}

/** Offloaded activations pass through two buffers of one layer (MEMO, arXiv 2407.12117). */
const OFFLOAD_BUFFERS = 2;

function rankActivationsOf(memory: MemoryFacts, load: RankLoad): RankActivations {
  let kept = memory.embeddingMaskBytes * (load.embedding ? load.firstInFlight : 0);
  let transient = 0;
  let largest = 0;
  const add = (layer: LayerActivations | undefined, inFlight: number): void => {
    if (layer === undefined || inFlight === 0) return;
    kept += layer.kept * inFlight;
    transient = Math.max(transient, layer.transient);
    largest = Math.max(largest, layer.kept);
  };
  for (let kind = 0; kind < load.layers.length; kind += 1) {
    add(memory.perKind[kind], load.inFlight[kind] ?? 0);
    add(memory.perKindFully[kind], load.inFlightFully[kind] ?? 0);
  }
  add(memory.mtpActivations, load.mtpLayers * load.mtpInFlight);
  return { kept: kept + stageBuffersOf(memory, load, kept), transient, largest };
}

/** Tensors that a pipeline keeps besides what its layers keep. */
function stageBuffersOf(memory: MemoryFacts, load: RankLoad, kept: number): number {
  const { candidate, profile, boundaryBytes } = memory;
  if (candidate.pipeline === 1) return 0;
  const extra = profile.extraMicroBatches;
  const tensors = isVShaped(candidate.schedule) ? 0 : profile.boundaryTensors;
  const boundaries = tensors * (load.stagesInFlight + extra) * boundaryBytes;
  const outputs = boundaries + (extra * kept) / load.firstInFlight;
  if (!isVocabularySharded(candidate)) return outputs;
  return (
    outputs + (SHARDED_VOCABULARY_BUFFERS + SHARDED_VOCABULARY_BUFFERS_PER_RANK * candidate.pipeline) * boundaryBytes
  );
}

/**
 * Inputs and input gradients of the vocabulary passes that wait on each rank when the vocabulary is spread over the pipeline, in hidden states
 * of one micro-batch. Fitted on the 60 such rows of vocabulary parallelism (arXiv 2411.05288): it lowers their error from 2.4 to 0.6 %.
 */
const SHARDED_VOCABULARY_BUFFERS = 24;
const SHARDED_VOCABULARY_BUFFERS_PER_RANK = 2 / 3;

/** DeepSpeed gathers matrix by matrix (about a third of a layer) and at most this many parameters ahead (`stage3_max_live_parameters`). */
const DEEPSPEED_LIVE_PARAMETERS = 1e9;

/**
 * Stage 3 keeps two gathered units in half precision and the gradient of one, and the vocabulary for the whole step; stage 2 the gradient of
 * one unit until it is reduced. Offloaded weights come back two layers at a time.
 */
function gatheredBytesOf({ candidate, full, waitingGradientBytes }: MemoryFacts, held: RankParameters): number {
  const unit = held.largestUnit;
  if (candidate.zeroStage < 3) {
    return unit * waitingGradientBytes + candidate.offloadWeights * 2 * unit * full.weights;
  }
  if (candidate.zeroImplementation !== 'deepspeed') {
    return unit * (2 * HALF_BYTES + full.gradients) + held.vocabulary * HALF_BYTES;
  }
  const live = Math.min(2 * unit, unit / 3 + DEEPSPEED_LIVE_PARAMETERS);
  return live * HALF_BYTES + (unit / 3) * full.gradients + held.vocabulary * HALF_BYTES;
}
