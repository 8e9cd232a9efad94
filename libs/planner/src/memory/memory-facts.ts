/** Inputs of the memory of a run, computed once for all ranks of its pipeline. */
import { adapterParametersOfLayer, type ModelShape } from '@coxswain/layout';
import { reducesEachMicroBatch, type CandidateLayout, type RunFacts } from '../facts.ts';
import { activationFactsOf, layerActivationsOf, type ActivationFacts, type LayerActivations } from './activations.ts';
import { parametersOf, type ModelParameters } from './parameters.ts';
import { memoryProfileOf, type StackMemoryProfile } from './stack-memory-profile.ts';
import {
  ADAM_MOMENT_BYTES,
  quantizedExtraBytesOf,
  shardDegreesOf,
  shardedStateBytes,
  stateBytesOf,
  type StateBytes,
} from './states.ts';

const FP32_BYTES = 4;
const HALF_BYTES = 2;

/** LoRA trains two thin matrices per frozen one: rank (1 / in + 1 / out) of its parameters, on average over a layer's shapes. */
const ADAPTER_SHARE_PER_RANK = 1.5;

/** Inputs that all ranks of a pipeline share. */
export interface MemoryFacts {
  readonly profile: StackMemoryProfile;
  readonly model: ModelShape;
  readonly candidate: CandidateLayout;
  readonly parameters: ModelParameters;
  /** Bytes of states per parameter: before sharding, and what stays on one GPU of dense weights and of experts. */
  readonly full: StateBytes;
  readonly dense: StateBytes;
  readonly expert: StateBytes;
  /** Bytes per parameter of gradients that ZeRO-2 is about to reduce. */
  readonly waitingGradientBytes: number;
  /** Bytes per matrix parameter of quantized weights on top of `full.weights`. */
  readonly quantizedBytes: number;
  /** By layer kind, of one micro-batch: as `recompute` says, and of layers that keep their input only. */
  readonly perKind: readonly LayerActivations[];
  readonly perKindFully: readonly LayerActivations[];
  readonly mtpActivations: LayerActivations;
  /** Logits of one micro-batch with their fp32 copies, final norm and input of the head. */
  readonly lossBytes: number;
  /** Dropout mask behind the embedding, of one micro-batch. */
  readonly embeddingMaskBytes: number;
  /** One tensor between stages, of one micro-batch. */
  readonly boundaryBytes: number;
  /** Share of the parameters that is trained. */
  readonly trainedShare: number;
  /** Weights of stated adapters, as a share of the frozen ones. */
  readonly adapterShare: number;
  /** Copies that the optimizer step makes, per parameter that a GPU holds. */
  readonly stepCopyBytes: { readonly dense: number; readonly expert: number };
}

/** The memory inputs of a run. */
export function memoryFactsOf(run: RunFacts): MemoryFacts {
  const { model, candidate } = run;
  const parameters = parametersOf(model);
  const facts = activationFactsOf(run);
  const profile = memoryProfileOf(run.stack);
  const full = fullStateBytes(run, profile);
  const degrees = shardDegreesOf(candidate);
  const perKind = parameters.kinds.map((kind) => layerActivationsOf(model, kind, facts, false));
  const perKindFully =
    candidate.recompute === 'full'
      ? parameters.kinds.map((kind) => layerActivationsOf(model, kind, facts, true))
      : perKind;
  const outside = candidate.sequenceParallel ? candidate.tensor : 1;
  // Gradients that are summed over micro-batches are whole until the step's end.
  const shardedStage = candidate.zeroStage === 2 && !reducesEachMicroBatch(run) ? 1 : candidate.zeroStage;
  const elements = (facts.tokens * model.hiddenSize) / outside;
  return {
    profile,
    model,
    candidate,
    parameters,
    full,
    dense: shardedStateBytes(full, shardedStage, degrees.dense),
    expert: shardedStateBytes(full, shardedStage, degrees.expert),
    waitingGradientBytes: reducesEachMicroBatch(run) ? full.gradients : 0,
    quantizedBytes: quantizedExtraBytesOf(run.precision),
    perKind,
    perKindFully,
    mtpActivations: perKindFully.at(-1) ?? NO_ACTIVATIONS,
    lossBytes: logitBytesOf(run, facts, profile) + 2 * facts.elementBytes * elements,
    embeddingMaskBytes: model.dropout ? elements : 0,
    boundaryBytes: facts.elementBytes * elements,
    trainedShare: trainedShareOf(run),
    adapterShare: run.lora === undefined ? 0 : trainedShareOf(run),
    stepCopyBytes: stepCopyBytesOf(run, profile, degrees),
  };
}

/** Adapters as a share of all parameters; 1 if all are trained. Layers of other kinds than attention have adapters of an average size. */
function trainedShareOf({ loraRank, lora, model }: RunFacts): number {
  if (loraRank === 0) return 1;
  const parameters = parametersOf(model);
  const isPlain = model.latentAttention === undefined && model.layerPattern === undefined;
  if (lora === undefined || !isPlain) return Math.min(1, (ADAPTER_SHARE_PER_RANK * loraRank) / model.hiddenSize);
  const adapters = parameters.kindOfLayer.reduce((sum, kind) => {
    const isOfExperts = parameters.kinds[kind]?.feedForward === 'experts';
    return sum + adapterParametersOfLayer(lora, model, isOfExperts);
  }, 0);
  return Math.min(1, adapters / parameters.total);
}

const NO_ACTIVATIONS: LayerActivations = { kept: 0, transient: 0 };

function fullStateBytes(run: RunFacts, { keepsBothGradients }: StackMemoryProfile): StateBytes {
  return stateBytesOf({
    precision: run.precision,
    gradientBytes: run.gradientBytes,
    zeroStage: run.candidate.zeroStage,
    zeroImplementation: run.candidate.zeroImplementation,
    momentBytes: run.momentBytes ?? ADAM_MOMENT_BYTES,
    keepsBothGradients,
  });
}

function logitBytesOf(
  { model, candidate, precision }: RunFacts,
  facts: ActivationFacts,
  profile: StackMemoryProfile,
): number {
  const bytes = precision === 'fp32' ? 2 * FP32_BYTES : profile.logitBytes;
  const shards = candidate.tensor * (isVocabularySharded(candidate) ? candidate.pipeline : 1);
  return (facts.tokens * bytes * model.vocabularySize) / shards;
}

/** Gradients in half precision are copied to fp32 for the update, each rank its share. */
function stepCopyBytesOf(
  { precision, gradientBytes, candidate }: RunFacts,
  profile: StackMemoryProfile,
  degrees: { readonly dense: number; readonly expert: number },
): MemoryFacts['stepCopyBytes'] {
  const copies = Math.max(precision !== 'fp32' && gradientBytes === HALF_BYTES ? FP32_BYTES : 0, profile.stepBytes);
  if (candidate.zeroStage === 0) return { dense: copies, expert: copies };
  return { dense: copies / degrees.dense, expert: copies / degrees.expert };
}

/** Whether every pipeline rank holds a share of the vocabulary. */
export function isVocabularySharded({ vocabulary, pipeline }: CandidateLayout): boolean {
  return pipeline > 1 && (vocabulary === 'sharded-over-pp' || vocabulary === 'interlaced');
}
