/** One field of a value changed, and which fields a schema then complains of: for tables of bounds. */
import type { z } from 'zod';

/** Sentence: `field` is `rule`; a value that just keeps it and one that just breaks it. */
export type Bound = readonly [field: string, rule: string, kept: unknown, broken: unknown];

/** The value with another one at the dotted path, as in `engine.env.0.name`; what is missing on the way is made, undefined removes. */
export function withField(whole: unknown, path: string, value: unknown): unknown {
  return changed(whole, path.split('.'), value);
}

function changed(whole: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(whole)) {
    return whole.map((item: unknown, index) => (index === Number(key) ? changed(item, rest, value) : item));
  }
  const fields = (whole ?? {}) as Readonly<Record<string, unknown>>;
  const { [key]: before, ...others } = fields;
  const after = changed(before, rest, value);
  return after === undefined ? others : { ...others, [key]: after };
}

/** Dotted paths of what the schema refuses, each once; unknown keys are listed with the path of what holds them. */
export function refusedFields(schema: z.ZodType, value: unknown): readonly string[] {
  const issues = schema.safeParse(value).error?.issues ?? [];
  const paths = issues.flatMap((issue) => {
    const path = issue.path.map(String);
    return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
  });
  return [...new Set(paths.map((path) => path.join('.')))];
}

export const letters = (count: number): string => 'a'.repeat(count);
export const listOf = (count: number, item: unknown): readonly unknown[] => Array.from({ length: count }, () => item);
