import { z } from 'zod';
import { brokenSchemaRule } from './broken-schema-rule.ts';
import { JobLayout, LayoutDocument } from './layout-document.ts';
import { nearestWord } from './nearest-word.ts';
import { ParallelLayout } from './parallel-layout.ts';

/** An error in a file; `path` is dotted, and empty if the error concerns the whole file. */
export interface DocumentProblem {
  readonly path: string;
  readonly message: string;
}

/** A parsed layout file: a document of one role, a job of several roles, or the errors that were found. */
export type ReadLayout =
  | { readonly kind: 'layout'; readonly document: LayoutDocument }
  | { readonly kind: 'job'; readonly document: JobLayout }
  | { readonly kind: 'wrong'; readonly problems: readonly DocumentProblem[] };

/** Reads a parsed JSON or YAML value: a job of several roles (`roles`), a document with `layout`, or a layout alone. */
export function readLayout(value: unknown): ReadLayout {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return wrong([{ path: '', message: 'expected a layout, a document with layout, or a job with roles' }]);
  }
  if ('roles' in value) {
    const parsed = JobLayout.safeParse(value, { reportInput: true });
    return parsed.success ? { kind: 'job', document: parsed.data } : wrong(problemsOf(parsed.error, JobLayout));
  }
  if ('layout' in value || !isLayoutAlone(value)) {
    const parsed = LayoutDocument.safeParse(value, { reportInput: true });
    return parsed.success ? { kind: 'layout', document: parsed.data } : wrong(problemsOf(parsed.error, LayoutDocument));
  }
  const parsed = ParallelLayout.safeParse(value, { reportInput: true });
  return parsed.success
    ? { kind: 'layout', document: { layout: parsed.data } }
    : wrong(problemsOf(parsed.error, ParallelLayout));
}

function isLayoutAlone(value: object): boolean {
  const keys = Object.keys(value);
  return keys.length === 0 || keys.some((key) => key in ParallelLayout.shape);
}

function wrong(problems: readonly DocumentProblem[]): ReadLayout {
  return { kind: 'wrong', problems };
}

function problemsOf(error: z.ZodError, schema: z.ZodType): readonly DocumentProblem[] {
  return error.issues.flatMap((issue) => sentencesOf(issue, schema, []));
}

function sentencesOf(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  above: readonly PropertyKey[],
): readonly DocumentProblem[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, issue.path);
    return issue.keys.map((key) => {
      const meant = nearestWord(known, key);
      const hint = meant === undefined ? `known keys are ${known.join(', ')}` : `did you mean ${meant}?`;
      return { path: dotted(path), message: `unknown key ${key}; ${hint}` };
    });
  }
  if (issue.code === 'invalid_union') {
    // Report the alternative of the right type: an object with an error inside, rather than text in place of an object.
    const branches: readonly (readonly z.core.$ZodIssue[])[] = issue.errors;
    const inside = branches.find((branch) =>
      branch.some((one) => one.path.length > 0 || one.code === 'unrecognized_keys'),
    );
    const branch = inside ?? branches[0] ?? [];
    const branchSchema = optionsAt(schema, issue.path)[branches.indexOf(branch)] ?? schema;
    return branch.flatMap((one) => sentencesOf(one, branchSchema, path));
  }
  if (issue.code === 'invalid_value') {
    const words = issue.values.map(String);
    const given = formatValue(issue.input);
    const meant = typeof issue.input === 'string' ? nearestWord(words, issue.input) : undefined;
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
    return [{ path: dotted(path), message: `${given} is not one of ${words.join(', ')}${hint}` }];
  }
  return [{ path: dotted(path), message: brokenSchemaRule(issue) }];
}

function formatValue(value: unknown): string {
  return value === undefined ? 'the value' : JSON.stringify(value);
}

function dotted(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

/** Keys that the schema allows at this path. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const at = schemaAt(schema, path);
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

function optionsAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly z.ZodType[] {
  const at = schemaAt(schema, path);
  return at instanceof z.ZodUnion ? (at.options as readonly z.ZodType[]) : [];
}

function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  let at: z.ZodType | undefined = unwrapped(schema);
  for (const step of path) {
    if (at instanceof z.ZodObject) at = (at.shape as Record<PropertyKey, z.ZodType | undefined>)[step];
    else if (at instanceof z.ZodArray) at = at.element as z.ZodType;
    else if (at instanceof z.ZodRecord) at = at.valueType as z.ZodType;
    else return undefined;
    if (at !== undefined) at = unwrapped(at);
  }
  return at;
}

function unwrapped(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? unwrapped(schema.unwrap() as z.ZodType)
    : schema;
}
