import type { EffectiveSpec } from '@coxswain/api-types';
import type { EngineRefusal } from '../engine-refusal.ts';

/** What an engine cannot do of a job; undefined where it can. */
export type Check = (spec: EffectiveSpec) => EngineRefusal | undefined;

/** The refusal of the first check that refuses; undefined if none does. */
export function firstRefusal(checks: readonly Check[], spec: EffectiveSpec): EngineRefusal | undefined {
  for (const check of checks) {
    const refusal = check(spec);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** A value as it stands in a file of the engine. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Settings by name; what is undefined is left to the engine. */
export function given<T>(values: Readonly<Record<string, T | undefined>>): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** A field of the job that an engine supports for some values only, or not at all. */
export interface SupportedField {
  /** Below the spec, with dots. */
  readonly field: string;
  readonly valueOf: (spec: EffectiveSpec) => unknown;
  /** Values that the engine has, or means by saying nothing. Absent: none. */
  readonly taken?: readonly unknown[];
  readonly fallback: string;
}

/** Makes the check that refuses the first of these fields whose value the engine does not support. */
export function rejectUnsupported(engine: string, fields: readonly SupportedField[]): Check {
  return (spec) => {
    for (const { field, valueOf, taken = [], fallback } of fields) {
      const value = valueOf(spec);
      if (value === undefined || taken.includes(value)) continue;
      const shown = typeof value === 'object' ? JSON.stringify(value) : String(value);
      return { rule: 'engine-lacks-word', field, why: `${engine} cannot do ${field} ${shown}`, fallback };
    }
    return undefined;
  };
}

/** Makes the check that a part of the spec is present. */
export function requirePart(engine: string, part: 'model' | 'training' | 'data', fallback: string): Check {
  return (spec) =>
    spec[part] === undefined
      ? { rule: 'engine-needs-part', field: part, why: `${engine} needs ${part}`, fallback }
      : undefined;
}
