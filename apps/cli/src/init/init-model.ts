import { TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import { isDomainError } from '@coxswain/domain-error';
import type { ModelShape } from '@coxswain/layout';
import { MODEL_PRESETS, modelOf } from '@coxswain/planner/presets';
import { CliError } from '../cli-error.ts';
import { plannedModel } from '../plan/planned-model.ts';

type ModelInput = NonNullable<TrainingJobSpecInput['model']>;

/** The model of a job: its shape in the spec, and its name. */
export interface JobModel {
  readonly name: string;
  readonly model: ModelInput;
}

/** The model of the quickstart: trained on processors in a minute or two. */
export const TINY_MODEL = 'tiny';
const TINY: ModelInput = { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 };
const SEQUENCE_TOKENS = 2_048;

/** Models whose sizes engine reference trains, by name: dense transformers among the planner's presets, behind the tiny one. */
export function modelNames(): readonly string[] {
  const trainable = MODEL_PRESETS.filter(({ model }) => problemOf(model) === undefined);
  return [TINY_MODEL, ...trainable.map(({ name }) => name)];
}

/** The words of a job of any program for a model: the name of a preset, a config.json as it stands, or all sizes of a shape. */
export function modelWords(nameOrFile: string, sequenceTokens?: number): JobModel {
  const { name, shape, words } = readModel(nameOrFile);
  const { name: _called, ...sizes } = shape;
  return { name, model: { ...(words ?? sizes), sequenceLength: sequenceTokens ?? SEQUENCE_TOKENS } };
}

/** The model that a preset's name or a file means; throws a {@link CliError} where there is none, or engine reference cannot train its sizes. */
export function jobModel(nameOrFile: string, sequenceTokens?: number): JobModel {
  if (nameOrFile === TINY_MODEL)
    return { name: TINY_MODEL, model: { ...TINY, sequenceLength: sequenceTokens ?? TINY.sequenceLength } };
  const { shape, name } = readModel(nameOrFile);
  const problem = problemOf(shape);
  if (problem !== undefined)
    throw new CliError(
      `${name} ${problem}, which engine reference does not train; choose one of ${modelNames().join(', ')}, or use --engine command for a program of your own.`,
    );
  return { name, model: sizesOf(shape, sequenceTokens) };
}

interface ReadModel {
  readonly name: string;
  readonly shape: ModelShape;
  /** Shorter than the shape: a preset's name, or the configuration that it was read from. */
  readonly words?: Pick<ModelInput, 'preset' | 'huggingFace'>;
}

function readModel(nameOrFile: string): ReadModel {
  try {
    const { model, modelShape, huggingFace } = plannedModel(nameOrFile);
    if (modelShape !== undefined) {
      const words = huggingFace === undefined ? {} : { words: { huggingFace } };
      return { name: modelShape.name ?? 'model', shape: modelShape, ...words };
    }
    const preset = modelOf(model ?? nameOrFile);
    return { name: preset.name, shape: preset.model, words: { preset: preset.name } };
  } catch (error) {
    if (isDomainError(error)) throw new CliError(error.message);
    throw error;
  }
}

/** Why engine reference trains no GPT of such sizes. */
function problemOf(shape: ModelShape): string | undefined {
  if (shape.experts !== undefined) return 'has experts';
  if (shape.stateSpace !== undefined || shape.layerPattern !== undefined) return 'has layers of several kinds';
  const read = TrainingJobSpec.shape.model.unwrap().safeParse(sizesOf(shape, undefined));
  return read.success ? undefined : `has sizes that a job does not support (${read.error.issues[0]?.message ?? ''})`;
}

function sizesOf({ layers, hiddenSize, attentionHeads }: ModelShape, sequenceTokens: number | undefined): ModelInput {
  return { layers, hiddenSize, attentionHeads, sequenceLength: sequenceTokens ?? SEQUENCE_TOKENS };
}
