/** Which sizes does a model have that somebody names by a preset, by a `config.json`, or by sizes of their own? */
import { DomainError, isDomainError } from '@coxswain/domain-error';
import { brokenSchemaRule, ModelShape, type MODEL_SIZES } from '@coxswain/layout';
import type { z } from 'zod';
import { modelFromHuggingFace } from './hugging-face.ts';
import { modelOf } from './models.ts';

type SizeName = keyof typeof MODEL_SIZES;
type GivenSizes = { readonly [Name in SizeName]?: z.output<(typeof MODEL_SIZES)[Name]> | undefined };

/** One of preset, configuration and sizes. */
export interface ModelReference extends GivenSizes {
  readonly preset?: string | undefined;
  readonly huggingFace?: Readonly<Record<string, unknown>> | undefined;
}

export interface ResolvedModel {
  readonly model: ModelShape;
  /** Sizes that stand somewhere: all of a preset; of sizes given by hand, those alone and not what follows from them. */
  readonly stated: Partial<ModelShape>;
  /** What was filled in, or is not modelled. */
  readonly assumed: readonly string[];
}

/** Where the reference are silent a model is a GPT of bytes: what four sizes have always meant, and what engine `reference` trains. */
const MLP_EXPANSION = 4;
const BYTE_VOCABULARY = 256;

/**
 * The model that the reference mean. Throws INVALID_REQUEST, with a pointer into the reference, for a preset or an architecture that is not known and for
 * sizes that contradict each other; the sentence says what to give instead.
 */
export function resolveModel(reference: ModelReference): ResolvedModel {
  const { preset, huggingFace, ...sizes } = reference;
  if (preset !== undefined) {
    const { model } = below('/preset', () => modelOf(preset));
    return { model, stated: model, assumed: [] };
  }
  if (huggingFace !== undefined) {
    const { model, assumed } = below('/huggingFace', () => modelFromHuggingFace(huggingFace));
    return { model, stated: model, assumed };
  }
  return modelOfSizes(sizes);
}

function modelOfSizes(reference: GivenSizes): ResolvedModel {
  // Whoever holds more than a model, such as its sequence length, may hand all of it over.
  const names = Object.keys(ModelShape.shape) as (keyof ModelShape)[];
  const given = names.flatMap((name) =>
    name === 'name' || reference[name] === undefined ? [] : [[name, reference[name]]],
  );
  const stated = Object.fromEntries(given) as Partial<ModelShape>;
  const { hiddenSize = 0, attentionHeads = 1 } = stated;
  const shape = ModelShape.safeParse(
    {
      ffnHiddenSize: MLP_EXPANSION * hiddenSize,
      keyValueHeads: attentionHeads,
      headDim: hiddenSize / attentionHeads,
      vocabularySize: BYTE_VOCABULARY,
      gatedMlp: false,
      ...stated,
    },
    { reportInput: true },
  );
  if (shape.success) return { model: shape.data, stated, assumed: [] };
  const violations = shape.error.issues.map((issue) => ({
    pointer: `/${issue.path.join('/')}`,
    detail: `${issue.path.join('.')} ${brokenSchemaRule(issue)}`,
  }));
  throw new DomainError('INVALID_REQUEST', `${violations.map(({ detail }) => detail).join('; ')}.`, violations);
}

/** What is refused inside `place` is refused by its place in the reference. */
function below<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isDomainError(error)) throw error;
    const violations = error.violations.map(({ pointer, detail }) => ({
      pointer: pointer === '/model' ? place : `${place}${pointer}`,
      detail,
    }));
    throw new DomainError(error.code, error.message, violations);
  }
}
