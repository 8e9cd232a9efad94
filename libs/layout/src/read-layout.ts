import type { z } from 'zod';
import { brokenSchemaRule } from './broken-schema-rule.ts';
import { JobLayout, LayoutDocument } from './layout-document.ts';
import { withDefaultSizes } from './model-shape.ts';
import { ParallelLayout } from './parallel-layout.ts';
import { type SchemaProblem, schemaProblems } from './schema-problems.ts';

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
    const parsed = JobLayout.safeParse({ ...value, roles: withModels(value.roles) }, { reportInput: true });
    return parsed.success ? { kind: 'job', document: parsed.data } : wrong(problemsOf(parsed.error, JobLayout));
  }
  if ('layout' in value || !isLayoutAlone(value)) {
    const parsed = LayoutDocument.safeParse(withModel(value), { reportInput: true });
    return parsed.success ? { kind: 'layout', document: parsed.data } : wrong(problemsOf(parsed.error, LayoutDocument));
  }
  const parsed = ParallelLayout.safeParse(value, { reportInput: true });
  return parsed.success
    ? { kind: 'layout', document: { layout: parsed.data } }
    : wrong(problemsOf(parsed.error, ParallelLayout));
}

/** A document may leave out the sizes of its model that a job may. */
function withModel(document: unknown): unknown {
  if (!isObject(document) || !isObject(document['model']) || 'kind' in document['model']) return document;
  return { ...document, model: withDefaultSizes(document['model']) };
}

function withModels(roles: unknown): unknown {
  if (!isObject(roles)) return roles;
  return Object.fromEntries(Object.entries(roles).map(([name, role]) => [name, withModel(role)]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isLayoutAlone(value: object): boolean {
  const keys = Object.keys(value);
  return keys.length === 0 || keys.some((key) => key in ParallelLayout.shape);
}

function wrong(problems: readonly DocumentProblem[]): ReadLayout {
  return { kind: 'wrong', problems };
}

function problemsOf(error: z.ZodError, schema: z.ZodType): readonly DocumentProblem[] {
  return schemaProblems(error.issues, schema).map((problem) => ({
    path: problem.path.map(String).join('.'),
    message: sentenceOf(problem),
  }));
}

function sentenceOf(problem: SchemaProblem): string {
  switch (problem.kind) {
    case 'unknownKey': {
      const { key, known, meant } = problem;
      const hint = meant === undefined ? `known keys are ${known.join(', ')}` : `did you mean ${meant}?`;
      return `unknown key ${key}; ${hint}`;
    }
    case 'notOneOf': {
      const { input, words, meant } = problem;
      const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
      return `${input === undefined ? 'the value' : JSON.stringify(input)} is not one of ${words.join(', ')}${hint}`;
    }
    case 'broken':
      return brokenSchemaRule(problem.issue);
  }
}
