/** Every field that a job can have, each with values that it may have: what adapters are held against. */
import { TrainingJobSpec } from '@coxswain/api-types';
import { z } from 'zod';

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface FieldOfJob {
  /** Below the spec, with dots; a list's elements are part 0. */
  readonly path: string;
  readonly values: readonly unknown[];
  /** Of a number, between which others lie. */
  readonly bounds?: { readonly min: number; readonly max: number; readonly isInteger: boolean };
}

const WHOLE = z.toJSONSchema(TrainingJobSpec, { io: 'input', target: 'draft-2020-12' }) as Schema;
/** Beside them the job says nothing of how it is trained. */
const PARTS = ['layout', 'training', 'data', 'initialWeights', 'checkpoint'];

export function fieldsOfAJob(): readonly FieldOfJob[] {
  return PARTS.flatMap((part) => below(part, resolved(WHOLE.properties?.[part] ?? {})));
}

function below(path: string, schema: Schema): readonly FieldOfJob[] {
  const { properties, items } = schema;
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, inner]) => below(`${path}.${name}`, resolved(inner)));
  if (items !== undefined) return below(`${path}.0`, resolved(items));
  const { type, minimum = 0, maximum = 1024 } = schema;
  const isNumber = type === 'integer' || type === 'number';
  const bounds = { min: minimum, max: Math.min(maximum, 1024), isInteger: type === 'integer' };
  return [{ path, values: valuesOf(schema), ...(isNumber ? { bounds } : {}) }];
}

function valuesOf({ enum: words, type, minimum = 0, maximum = 8 }: Schema): readonly unknown[] {
  if (words !== undefined) return words;
  if (type === 'boolean') return [true, false];
  if (type === 'string') return ['a'];
  const small = [minimum, minimum + 1, 2, 3].filter((value) => value <= maximum);
  return type === 'integer' ? [...new Set(small)] : [...new Set([...small, 0.5])];
}

function resolved(schema: Schema): Schema {
  const { $ref, allOf = [], anyOf = [] } = schema;
  if ($ref !== undefined) return resolved(WHOLE.$defs?.[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {});
  const only = allOf[0] ?? anyOf[0];
  return only === undefined ? schema : resolved(only);
}

/** The spec with the field set; what stands beside it stays. */
export function withField(spec: object, path: string, value: unknown): object {
  const [name = '', ...rest] = path.split('.');
  const at: unknown = (spec as Readonly<Record<string, unknown>>)[name];
  if (rest.length === 0) return Array.isArray(spec) ? [value] : { ...spec, [name]: value };
  const inner = typeof at === 'object' && at !== null ? at : rest[0] === '0' ? [] : {};
  const set = withField(inner, rest.join('.'), value);
  return Array.isArray(spec) ? [set] : { ...spec, [name]: set };
}
