import type { z } from 'zod';
import { brokenSchemaRule } from './broken-schema-rule.ts';
import { JobLayout, LayoutDocument } from './layout-document.ts';
import { withAssumedSizes } from './model-shape.ts';
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
    const parsed = JobLayout.safeParse(withSizesOfRoles(value), { reportInput: true });
    return parsed.success ? { kind: 'job', document: parsed.data } : wrong(problemsOf(parsed.error, JobLayout));
  }
  if ('layout' in value || !isLayoutAlone(value)) {
    const parsed = LayoutDocument.safeParse(withSizes(value), { reportInput: true });
    return parsed.success ? { kind: 'layout', document: parsed.data } : wrong(problemsOf(parsed.error, LayoutDocument));
  }
  const parsed = ParallelLayout.safeParse(value, { reportInput: true });
  return parsed.success
    ? { kind: 'layout', document: { layout: parsed.data } }
    : wrong(problemsOf(parsed.error, ParallelLayout));
}

/** A document may leave out the sizes that a job may leave out. */
function withSizes(document: object): object {
  const { model } = document as { readonly model?: unknown };
  if (typeof model !== 'object' || model === null || Array.isArray(model) || 'kind' in model) return document;
  const sizes = model as Readonly<Record<string, unknown>>;
  const { hiddenSize, attentionHeads } = sizes;
  return typeof hiddenSize === 'number' && typeof attentionHeads === 'number' && attentionHeads > 0
    ? { ...document, model: withAssumedSizes(sizes) }
    : document;
}

function withSizesOfRoles(job: { readonly roles: unknown }): object {
  const { roles } = job;
  if (typeof roles !== 'object' || roles === null || Array.isArray(roles)) return job;
  const read = Object.entries(roles).map(([role, one]: [string, unknown]) => [
    role,
    typeof one === 'object' && one !== null ? withSizes(one) : one,
  ]);
  return { ...job, roles: Object.fromEntries(read) as unknown };
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
