/** Resolves the sizes of a model from a preset, a `config.json`, or sizes. */
import { DomainError, isDomainError } from '@coxswain/domain-error';
import { brokenSchemaRule, ModelShape, type MODEL_SIZES, withDefaultSizes } from '@coxswain/layout';
import type { z } from 'zod';
import { modelFromHuggingFace } from './hugging-face.ts';
import { modelOf } from './models.ts';

type SizeName = keyof typeof MODEL_SIZES;
type GivenSizes = { readonly [Name in SizeName]?: z.output<(typeof MODEL_SIZES)[Name]> | undefined };

/** A reference to a model: one of preset, configuration and sizes. */
export interface ModelReference extends GivenSizes {
  readonly preset?: string | undefined;
  readonly huggingFace?: Readonly<Record<string, unknown>> | undefined;
}

/** A model with its sizes. */
export interface ResolvedModel {
  readonly model: ModelShape;
  /** Sizes that the reference states: all sizes of a preset or configuration, else only the given sizes, without defaults. */
  readonly stated: Partial<ModelShape>;
  /** Notes on filled-in values, and on options that are not modelled. */
  readonly assumed: readonly string[];
}

/**
 * Resolves a model. Throws INVALID_REQUEST, with a pointer into the reference, for an unknown preset or architecture and for sizes that contradict each
 * other.
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
  // Callers may pass objects with further keys, such as a sequence length.
  const names = Object.keys(ModelShape.shape) as (keyof ModelShape)[];
  const given = names.flatMap((name) =>
    name === 'name' || reference[name] === undefined ? [] : [[name, reference[name]]],
  );
  const stated = Object.fromEntries(given) as Partial<ModelShape>;
  const shape = ModelShape.safeParse(withDefaultSizes(stated), { reportInput: true });
  if (shape.success) return { model: shape.data, stated, assumed: [] };
  const violations = shape.error.issues.map((issue) => ({
    pointer: `/${issue.path.join('/')}`,
    detail: `${issue.path.join('.')} ${brokenSchemaRule(issue)}`,
  }));
  throw new DomainError('INVALID_REQUEST', `${violations.map(({ detail }) => detail).join('; ')}.`, violations);
}

/** Adds `place` to the pointers of errors that `read` throws. */
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
