/** Values of `engine.options`, and fields of a spec by their dotted names. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { Json } from '../adapters/check.ts';

/** A value as the engine reads it: JSON where it is JSON, the words of Python, else the text itself. */
export function valueOfText(text: string): Json {
  const word = PYTHON.get(text);
  if (word !== undefined) return word;
  if (/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text)) return Number(text);
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

const PYTHON: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['True', true],
  ['False', false],
  ['None', null],
  ['null', null],
]);

/** Whether both are the same to the engine. */
export function isSameValue(one: Json | undefined, other: Json | undefined): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/** The value of a dotted field; undefined if a part of it is absent. */
export function fieldOf(spec: object, field: string): unknown {
  return field
    .split('.')
    .reduce<unknown>(
      (at, name) =>
        typeof at === 'object' && at !== null ? (at as Readonly<Record<string, unknown>>)[name] : undefined,
      spec,
    );
}

/** The spec with a dotted field set. */
export function withField(spec: EffectiveSpec, field: string, value: unknown): EffectiveSpec {
  return set(spec, field.split('.'), value) as EffectiveSpec;
}

function set(at: object, [name = '', ...rest]: readonly string[], value: unknown): object {
  const inner = (at as Readonly<Record<string, unknown>>)[name];
  return {
    ...at,
    [name]: rest.length === 0 ? value : set(typeof inner === 'object' && inner !== null ? inner : {}, rest, value),
  };
}
