/** Reads the sizes of the model of a job. */
import type { ModelSpec } from '@coxswain/api-types';
import { isDomainError } from '@coxswain/domain-error';
import { type ResolvedModel, resolveModel } from '@coxswain/planner/presets';

/** A field that cannot be used: its name below the spec, with dots, and a sentence that says what to do instead. */
export interface FieldRefusal {
  readonly field: string;
  readonly message: string;
}

type Reading =
  | { readonly kind: 'known'; readonly known: ResolvedModel }
  | { readonly kind: 'refused'; readonly refusals: readonly FieldRefusal[] };

/** By model. Every reconcile reads the same model again, and so does every layout that the planner tries. */
const readings = new WeakMap<ModelSpec, Reading>();

/** The sizes that a model spec describes; undefined if it describes none, for the reason that {@link modelRefusals} gives. */
export function modelOfJob(model: ModelSpec): ResolvedModel | undefined {
  const reading = readingOf(model);
  return reading.kind === 'known' ? reading.known : undefined;
}

/** Why the sizes of the model are not known; empty if they are, or if the job has no model. */
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
