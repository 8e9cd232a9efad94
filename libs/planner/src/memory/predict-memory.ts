/** How much GPU memory a run needs on each pipeline rank, and whether it fits. */
import type { ModelShape } from '@coxswain/layout';

import { microBatches, type LayoutPoint, type RunFacts } from '../facts.ts';
import type { MemoryVerdict } from '../plan-types.ts';
import { activationFactsOf, layerActivationsOf, type LayerActivations } from './activations.ts';

import { denseShareOf, expertShareOf, parametersOf, type LayerParameters, type ModelParameters } from './parameters.ts';
import { pipelineLoadOf, type RankLoad } from './pipeline-load.ts';
import { habitsOf, type StackHabits } from './stack-habits.ts';
import { isVShaped } from '../stages.ts';
import {
  ADAM_MOMENT_BYTES,
  quantizedExtraBytesOf,
  shardDegreesOf,
  shardedStateBytes,
  stateBytesOf,
  type StateBytes,
} from './states.ts';

/** Peak of one GPU of a pipeline rank, in bytes. All fields but `hostBytes` sum to `totalBytes`. */
export interface RankMemory {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Of all micro-batches in flight. */
  readonly activations: number;
  /** Logits and their fp32 copies at the loss. */
  readonly vocabulary: number;
  /** What the backward pass of one layer holds besides: what is computed again, and gradients of attention scores. */
  readonly backward: number;
  /** Weights and gradients gathered for computation (stage 3) or waiting to be reduced (stage 2). */
  readonly gathered: number;
  /** Dummy weight gradients and copies of the optimizer step. */
  readonly workspace: number;
  readonly totalBytes: number;
  /** What offloading keeps in host memory for this GPU. */
  readonly hostBytes: number;
}

export interface MemoryPrediction {
  /** One per pipeline rank. */
  readonly stages: readonly RankMemory[];
  /** Index into `stages` of the rank that needs most. */
  readonly worstStage: number;
  /** Peak of what PyTorch's allocator hands out (`torch.cuda.max_memory_allocated`). */
  readonly peakAllocatedBytes: number;
  /** Peak of what the allocator holds, fragments included (`max_memory_reserved`). */
  readonly peakReservedBytes: number;
  /** What nvidia-smi shows: reserved, CUDA context and communicators. */
  readonly deviceUsedBytes: number;
  readonly hostBytesPerGpu: number;
  readonly capacityBytes: number;
  readonly verdict: MemoryVerdict;
  /** Capacity minus `deviceUsedBytes`; negative where it does not fit. */
  readonly marginBytes: number;
  readonly sentence: string;
}

const GIB = 2 ** 30;
const FP32_BYTES = 4;
const HALF_BYTES = 2;

/** Above the capacity by more than this share, what a run allocates and the smallest context say that it does not fit. */
export const OVERFLOW_SHARE = 0.05;
const SMALLEST_CONTEXT_BYTES = GIB;

/** LoRA trains two thin matrices per frozen one: rank (1 / in + 1 / out) of its parameters, on average over a layer's shapes. */
const ADAPTER_SHARE_PER_RANK = 1.5;

/** What is the same on all ranks of a pipeline. */
interface MemoryFacts {
  readonly habits: StackHabits;
  readonly model: ModelShape;
  readonly layout: LayoutPoint;
  readonly parameters: ModelParameters;
  readonly dense: StateBytes;
  readonly expert: StateBytes;
  readonly full: StateBytes;
  readonly quantizedBytes: number;
  readonly perKind: readonly LayerActivations[];
  readonly perKindFully: readonly LayerActivations[];
  readonly mtpActivations: LayerActivations;
  readonly lossBytes: number;
  readonly embeddingMaskBytes: number;
  /** One tensor between stages, of one micro-batch. */
  readonly boundaryBytes: number;
  /** Share of the parameters that is trained. */
  readonly trainedShare: number;
  readonly stepCopyBytes: { readonly dense: number; readonly expert: number };
}

function memoryFactsOf(run: RunFacts): MemoryFacts {
  const { model, layout } = run;
  const parameters = parametersOf(model);
  const facts = activationFactsOf(run);
  const habits = habitsOf(run.stack);
  const full = stateBytesOf({
    precision: run.precision,
    gradientBytes: run.gradientBytes,
    zeroStage: layout.zeroStage,
    zeroImplementation: layout.zeroImplementation,
    momentBytes: run.momentBytes ?? ADAM_MOMENT_BYTES,
    keepsBothGradients: habits.keepsBothGradients,
  });
  const degrees = shardDegreesOf(layout);
  const perKind = parameters.kinds.map((kind) => layerActivationsOf(model, kind, facts, false));
  const perKindFully = parameters.kinds.map((kind) => layerActivationsOf(model, kind, facts, true));
  const fp32Gradients = run.precision !== 'fp32' && run.gradientBytes === HALF_BYTES ? FP32_BYTES : 0;
  const copies = Math.max(fp32Gradients, habits.stepBytes);
  const last = layout.recompute === 'full' ? perKindFully.at(-1) : perKind.at(-1);
  const outside = layout.sequenceParallel ? layout.tensor : 1;
  const shards = isSharded(layout) ? layout.pipeline : 1;
  const logitBytes = run.precision === 'fp32' ? 2 * FP32_BYTES : habits.logitBytes;
  return {
    habits,
    model,
    layout,
    parameters,
    full,
    dense: shardedStateBytes(full, layout.zeroStage, degrees.dense),
    expert: shardedStateBytes(full, layout.zeroStage, degrees.expert),
    quantizedBytes: quantizedExtraBytesOf(run.precision),
    perKind,
    perKindFully,
    mtpActivations: last ?? { kept: 0, transient: 0 },
    lossBytes:
      facts.tokens *
      ((logitBytes * model.vocabularySize) / (layout.tensor * shards) +
        (2 * facts.elementBytes * model.hiddenSize) / outside),
    embeddingMaskBytes: model.dropout ? (facts.tokens * model.hiddenSize) / outside : 0,
    boundaryBytes: (facts.elementBytes * facts.tokens * model.hiddenSize) / outside,
    trainedShare: run.loraRank > 0 ? Math.min(1, (ADAPTER_SHARE_PER_RANK * run.loraRank) / model.hiddenSize) : 1,
    stepCopyBytes: {
      dense: layout.zeroStage >= 1 ? copies / degrees.dense : copies,
      expert: layout.zeroStage >= 1 ? copies / degrees.expert : copies,
    },
  };
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
  const { parameters, layout, model } = memory;
  if (isSharded(layout)) {
    const head = model.vocabularySize * model.hiddenSize; // a vocabulary spread over the pipeline cannot tie its ends
    return (parameters.embedding + head) / (layout.tensor * layout.pipeline);
  }
  const embedding = load.embedding || load.mtpLayers > 0 ? parameters.embedding : 0;
  const headNeeded = load.loss && !(model.tiedEmbeddings && embedding > 0);
  return (embedding + (headNeeded ? model.vocabularySize * model.hiddenSize : 0)) / layout.tensor;
}

function rankParametersOf(memory: MemoryFacts, load: RankLoad): RankParameters {
  const { parameters, layout } = memory;
  let dense = load.loss ? parameters.finalNorm : 0;
  let expert = 0;
  let quantized = 0;
  let largestUnit = 0;
  let distinct = 0;
  const add = (layer: LayerParameters, count: number): void => {
    const denseShare = denseShareOf(layer, layout);
    const expertShare = expertShareOf(layer, layout);
    dense += count * denseShare;
    expert += count * expertShare;
    quantized += count * (layer.tensorSharded / layout.tensor + expertShare);
    largestUnit = Math.max(largestUnit, denseShare + expertShare);
    const shapes = layer.distinctSharded / layout.tensor + layer.distinctReplicated;
    distinct = Math.max(distinct, shapes + layer.distinctRouted / layout.expertTensor);
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
}

function rankActivationsOf(memory: MemoryFacts, load: RankLoad): RankActivations {
  let kept = memory.embeddingMaskBytes * (load.embedding ? load.firstInFlight : 0);
  let transient = 0;
  const add = (layer: LayerActivations | undefined, inFlight: number): void => {
    if (layer === undefined || inFlight === 0) return;
    kept += layer.kept * inFlight;
    transient = Math.max(transient, layer.transient);
  };
  for (let kind = 0; kind < load.layers.length; kind += 1) {
    add(memory.perKind[kind], load.inFlight[kind] ?? 0);
    add(memory.perKindFully[kind], load.inFlightFully[kind] ?? 0);
  }
  add(memory.mtpActivations, load.mtpLayers * load.mtpInFlight);
  return { kept: kept + stageBuffersOf(memory, load, kept), transient };
}

/** Tensors that a pipeline keeps besides what its layers keep. */
function stageBuffersOf(memory: MemoryFacts, load: RankLoad, kept: number): number {
  const { layout, habits, boundaryBytes } = memory;
  if (layout.pipeline === 1) return 0;
  const extra = habits.extraMicroBatches;
  const tensors = isVShaped(layout.schedule) ? 0 : habits.boundaryTensors;
  const boundaries = tensors * (load.stagesInFlight + extra) * boundaryBytes;
  const outputs = boundaries + (extra * kept) / load.firstInFlight;
  if (!isSharded(layout)) return outputs;
  return outputs + (SHARDED_VOCABULARY_BUFFERS + SHARDED_VOCABULARY_BUFFERS_PER_RANK * layout.pipeline) * boundaryBytes;
}

/**
 * Inputs and input gradients of the vocabulary passes that wait on each rank when the vocabulary is spread over the pipeline, in hidden states
 * of one micro-batch; fitted on the 60 such rows of vocabulary parallelism (arXiv 2411.05288), where it takes the error from 2.4 to 0.6 %.
 */
const SHARDED_VOCABULARY_BUFFERS = 24;
const SHARDED_VOCABULARY_BUFFERS_PER_RANK = 2 / 3;

/** DeepSpeed gathers matrix by matrix (about a third of a layer) and at most this many parameters ahead (`stage3_max_live_parameters`). */
const DEEPSPEED_LIVE_PARAMETERS = 1e9;

/** Stage 3 keeps two gathered units in half precision and the gradient of one, and the vocabulary for the whole step. */
function gatheredBytesOf({ layout, full }: MemoryFacts, held: RankParameters): number {
  if (layout.zeroStage < 3) return 0;
  const unit = held.largestUnit;
  if (layout.zeroImplementation !== 'deepspeed') {
    return unit * (2 * HALF_BYTES + full.gradients) + held.vocabulary * HALF_BYTES;
  }
  const live = Math.min(2 * unit, unit / 3 + DEEPSPEED_LIVE_PARAMETERS);
  return live * HALF_BYTES + (unit / 3) * full.gradients + held.vocabulary * HALF_BYTES;
}

function rankMemoryOf(memory: MemoryFacts, load: RankLoad): RankMemory {
  const { layout, dense, expert, trainedShare } = memory;
  const held = rankParametersOf(memory, load);
  const densely = held.dense + held.vocabulary;
  const quantized = layout.zeroStage === 3 ? 0 : held.quantized * memory.quantizedBytes;
  const allWeights = densely * dense.weights + held.expert * expert.weights + quantized;
  const allOptimizer = (densely * dense.optimizer + held.expert * expert.optimizer) * trainedShare;
  const gradients = (densely * dense.gradients + held.expert * expert.gradients) * trainedShare;
  const { kept, transient } = rankActivationsOf(memory, load);
  const weights = allWeights * (1 - layout.offloadWeights);
  const optimizer = allOptimizer * (1 - layout.offloadOptimizer);
  const activations = kept * (1 - layout.offloadActivations);
  const vocabulary = load.loss || isSharded(layout) ? memory.lossBytes * (1 + load.mtpLayers) : 0;
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
function standingWorkspaceOf({ habits, layout }: MemoryFacts, held: RankParameters): number {
  const inPlace = layout.zeroImplementation === 'distopt' || layout.zeroImplementation === 'ddp';
  const dummies = habits.dummyGradients && inPlace ? held.distinct * HALF_BYTES : 0;
  const copiesGradients = layout.zeroImplementation === 'deepspeed' && layout.zeroStage === 1 && layout.pipeline === 1;
  const copies = copiesGradients ? (held.dense + held.expert + held.vocabulary) * habits.gradientCopyBytes : 0;
  return dummies + copies;
}

function isSharded({ vocabulary, pipeline }: LayoutPoint): boolean {
  return pipeline > 1 && (vocabulary === 'sharded-over-pp' || vocabulary === 'interlaced');
}

/** Peak of the allocator on the worst rank, in bytes: what a search compares, without the texts and the breakdown of `predictMemory`. */
export function peakAllocatedBytesOf(run: RunFacts): number {
  const memory = memoryFactsOf(run);
  let peak = 0;
  for (const load of pipelineLoadOf(run.model, run.layout, microBatches(run)).heaviest) {
    peak = Math.max(peak, rankMemoryOf(memory, load).totalBytes);
  }
  return peak;
}

/** What nvidia-smi shows for an allocator peak of a software stack, in bytes. */
export function deviceUsedBytesOf(peakAllocatedBytes: number, stack: string): number {
  const { slackShare, contextGib } = habitsOf(stack);
  return peakAllocatedBytes * (1 + slackShare) + contextGib * GIB;
}

/**
 * Whether an allocator peak fits a GPU. 'fits' leaves `marginShare` of the capacity free (absent: what the stack needs to be safe),
 * 'doesNotFit' exceeds it by more than OVERFLOW_SHARE even without slack and communicators, and what lies between is 'tight'.
 */
export function verdictOf(
  peakAllocatedBytes: number,
  run: Pick<RunFacts, 'stack' | 'cluster'>,
  marginShare = habitsOf(run.stack).marginShare,
): MemoryVerdict {
  const used = deviceUsedBytesOf(peakAllocatedBytes, run.stack);
  const capacity = run.cluster.gpu.memoryGib * GIB;
  if (used <= capacity * (1 - marginShare)) return 'fits';
  return peakAllocatedBytes + SMALLEST_CONTEXT_BYTES <= capacity * (1 + OVERFLOW_SHARE) ? 'tight' : 'doesNotFit';
}

export interface MemoryOptions {
  /** Share of the capacity that must stay free for the verdict 'fits'. */
  readonly marginShare?: number;
}

export function predictMemory(run: RunFacts, options: MemoryOptions = {}): MemoryPrediction {
  const memory = memoryFactsOf(run);
  const stages = pipelineLoadOf(run.model, run.layout, microBatches(run)).ranks.map((load) =>
    rankMemoryOf(memory, load),
  );
  const worstStage = stages.reduce(
    (worst, stage, index) => (stage.totalBytes > (stages[worst]?.totalBytes ?? 0) ? index : worst),
    0,
  );
  const peakAllocatedBytes = stages[worstStage]?.totalBytes ?? 0;
  const capacityBytes = run.cluster.gpu.memoryGib * GIB;
  const deviceUsedBytes = deviceUsedBytesOf(peakAllocatedBytes, run.stack);
  const verdict = verdictOf(peakAllocatedBytes, run, options.marginShare);
  return {
    stages,
    worstStage,
    peakAllocatedBytes,
    peakReservedBytes: peakAllocatedBytes * (1 + memory.habits.slackShare),
    deviceUsedBytes,
    hostBytesPerGpu: stages.reduce((most, stage) => Math.max(most, stage.hostBytes), 0),
    capacityBytes,
    verdict,
    marginBytes: capacityBytes - deviceUsedBytes,
    sentence: sentenceOf(verdict, deviceUsedBytes, capacityBytes),
  };
}

const SAID: Readonly<Record<MemoryVerdict, string>> = { fits: 'fits', tight: 'is tight', doesNotFit: 'does not fit' };

function sentenceOf(verdict: MemoryVerdict, usedBytes: number, capacityBytes: number): string {
  const gib = (bytes: number): string => (bytes / GIB).toFixed(1);
  return `needs ${gib(usedBytes)} of ${gib(capacityBytes)} GiB per GPU: ${SAID[verdict]}`;
}
