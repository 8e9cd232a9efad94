import { brokenSchemaRule, describeProblem, schemaProblems } from '@coxswain/layout';
import type { z } from 'zod';

/**
 * What a schema rejects in a document: a paragraph of two lines for each problem, the second with its place. `whole` names the document. Parse with
 * `reportInput`, so that the values can be shown.
 */
export function problemsIn(
  error: z.ZodError | undefined,
  { schema, whole }: { readonly schema: z.ZodType; readonly whole: string },
): readonly string[] {
  return schemaProblems(error?.issues ?? [], schema).map(
    (problem) =>
      `✖ ${describeProblem(problem)}\n  → at ${problem.path.length === 0 ? whole : problem.path.map(String).join('.')}`,
  );
}

/** The first problem of a document whose fields are options: `--keep-every-steps is 0; it must be at least 1.` Parse with `reportInput`. */
export function problemOfOption({ issues: [issue] }: z.ZodError): string {
  if (issue === undefined) return 'The options are not valid.';
  const option = String(issue.path[0]).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${option} ${brokenSchemaRule(issue)}.`;
}
