/** Which sizes does the model of a job have, and what is wrong with the words that say so? */
import type { ModelSpec } from '@coxswain/api-types';
import { isDomainError } from '@coxswain/domain-error';
import { type ResolvedModel, resolveModel } from '@coxswain/planner/presets';

/** What of a job cannot be run: the field below the spec, with dots, and a sentence that says what to do instead. */
export interface FieldRefusal {
  readonly field: string;
  readonly message: string;
}

type Reading =
  | { readonly kind: 'known'; readonly known: ResolvedModel }
  | { readonly kind: 'refused'; readonly refusals: readonly FieldRefusal[] };

/** Of each model that was read: every look at a job asks again, and so does every layout that is tried for one. */
const readings = new WeakMap<ModelSpec, Reading>();

/** The sizes that the job's words mean; undefined where they mean none: {@link modelRefusals} says why. */
export function modelOfJob(model: ModelSpec): ResolvedModel | undefined {
  const reading = readingOf(model);
  return reading.kind === 'known' ? reading.known : undefined;
}

/** Why this version knows no sizes for the words; none where it does, or where the job has no model. */
export function modelRefusals(model: ModelSpec | undefined): readonly FieldRefusal[] {
  if (model === undefined) return [];
  const reading = readingOf(model);
  return reading.kind === 'refused' ? reading.refusals : [];
}

function readingOf(model: ModelSpec): Reading {
  const before = readings.get(model);
  if (before !== undefined) return before;
  const reading = read(model);
  readings.set(model, reading);
  return reading;
}

function read(model: ModelSpec): Reading {
  try {
    return { kind: 'known', known: resolveModel(model) };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    const refusals = error.violations.map(({ pointer, detail }) => {
      const field = `model${pointer.replaceAll('/', '.')}`;
      return { field, message: `${field}: ${detail}` };
    });
    return { kind: 'refused', refusals };
  }
}
