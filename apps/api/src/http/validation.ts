import { DomainError, type Violation } from '@coxswain/domain-error';
import { StandardSchemaValidationPipe } from '@nestjs/common';
import { describeProblem, schemaProblems } from '@coxswain/layout';
import type { z } from 'zod';

/** The most violations in one answer: enough to correct a request, too few to fill a screen. */
const MAX_VIOLATIONS = 50;

interface Issue {
  readonly message: string;
  readonly path?: readonly PropertyKey[] | undefined;
}

/** The pipe behind every `@Body({ schema })`, `@Query({ schema })` and `@Param(…, { schema })`: its schemas are of zod. */
class ValidationPipe extends StandardSchemaValidationPipe {
  override validate<T = unknown>(
    ...[value, schema]: Parameters<StandardSchemaValidationPipe['validate']>
  ): {
    readonly value: T;
  } {
    return { value: parse(schema as unknown as z.ZodType<T>, value) };
  }
}

/** A pipe that rejects with INVALID_REQUEST. */
export function validationPipe(): StandardSchemaValidationPipe {
  return new ValidationPipe();
}

/** `value` as the schema gives it back, or INVALID_REQUEST with a pointer per fault. */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value, { reportInput: true });
  if (!result.success) throw refusalOf(violationsOf(result.error.issues, schema));
  return result.data;
}

/** INVALID_REQUEST that names each field and what is wrong with it. */
export function invalidRequest(issues: readonly Issue[]): DomainError {
  return refusalOf(issues.map(({ path = [], message }) => ({ pointer: pointerOf(path), detail: message })));
}

function refusalOf(all: readonly Violation[]): DomainError {
  const violations = all.slice(0, MAX_VIOLATIONS);
  const first = violations[0];
  const where = first === undefined || first.pointer === '' ? 'the request' : first.pointer;
  const more = violations.length > 1 ? `; ${violations.length - 1} more in errors` : '';
  return new DomainError('INVALID_REQUEST', `${where}: ${first?.detail ?? 'is not valid'}${more}`, violations);
}

function violationsOf(issues: readonly z.core.$ZodIssue[], schema: z.ZodType): readonly Violation[] {
  return schemaProblems(issues, schema).map((problem) => {
    const path = problem.kind === 'unknownKey' ? [...problem.path, problem.key] : problem.path;
    return { pointer: pointerOf(path), detail: describeProblem(problem) };
  });
}

/** RFC 6901. */
export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
