/** What is wrong with which field of a job that is not submitted yet. */
import { ApiProblem } from '@coxswain/api-client';
import { JobCreate, type JobCheck, type JobObstacle } from '@coxswain/api-types';
import { describeProblem, schemaProblems } from '@coxswain/layout';

/** `field`: `spec.engine.image`; empty: the text as a whole. */
export interface FieldProblem {
  readonly field: string;
  /** Undefined: it has none, or it is not repeated. */
  readonly value: string | undefined;
  readonly rule: string;
  /** What to do; null: the rule says it. */
  readonly change: string | null;
  readonly effect: JobObstacle['effect'];
}

/** Values of these may be credentials, which are not repeated. */
const UNREPEATED = /^spec\.engine\.(env|args|command|options)/;

/** Every problem that the API's own schema finds, before anything is sent. */
export function problemsOfRequest(request: unknown): readonly FieldProblem[] {
  const parsed = JobCreate.safeParse(request, { reportInput: true });
  if (parsed.success) return [];
  return schemaProblems(parsed.error.issues, JobCreate).map((problem) => {
    const path = problem.kind === 'unknownKey' ? [...problem.path, problem.key] : problem.path;
    return needsChange(request, path.map(String), describeProblem(problem));
  });
}

/** Every problem that a refusal of the API names. Any other failure is one problem of the whole. */
export function problemsOfFailure(request: unknown, error: Error): readonly FieldProblem[] {
  if (!(error instanceof ApiProblem) || error.violations.length === 0) {
    const isName = error instanceof ApiProblem && error.code === 'NAME_TAKEN';
    return [needsChange(request, isName ? ['name'] : [], error.message)];
  }
  // Pointers are those of RFC 6901.
  return error.violations.map(({ pointer, detail }) => {
    const path = pointer.split('/').slice(1);
    return needsChange(
      request,
      path.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')),
      detail,
    );
  });
}

/** Everything in the way of the job that the API found in database and cluster. */
export function problemsOfCheck({ verdict, obstacles }: JobCheck): readonly FieldProblem[] {
  if (obstacles !== undefined) return obstacles.map(({ value, ...one }) => ({ ...one, value: value ?? undefined }));
  if (verdict === null) return [];
  return [{ field: '', value: undefined, rule: verdict.sentence, change: verdict.change, effect: 'NeedsChange' }];
}

/**
 * The input of the form that shows a problem: the one of the field itself, else the one of the field around it, else the first one inside the field. Undefined:
 * only the YAML has it.
 */
export function inputOf(field: string, inputs: readonly string[]): string | undefined {
  // A layout says how many GPUs there are.
  if (field === 'spec.layout' || field.startsWith('spec.layout.')) return inputOf('spec.gpus', inputs);
  const around = inputs.filter((input) => field === input || field.startsWith(`${input}.`));
  const nearest = around.toSorted((a, b) => b.length - a.length)[0];
  if (nearest !== undefined || field === '' || field === 'spec') return nearest;
  return inputs.find((input) => input.startsWith(`${field}.`));
}

function needsChange(request: unknown, path: readonly string[], rule: string): FieldProblem {
  const field = path.join('.');
  const value = UNREPEATED.test(field) ? undefined : shownValue(request, path);
  return { field, value, rule, change: null, effect: 'NeedsChange' };
}

function shownValue(request: unknown, path: readonly string[]): string | undefined {
  const value = path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Readonly<Record<string, unknown>>)[key]
        : undefined,
    request,
  );
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}
