import { DomainError, type Violation } from '@coxswain/domain-error';
import { StandardSchemaValidationPipe } from '@nestjs/common';
import type { z } from 'zod';

/** The most violations in one answer: enough to correct a request, too few to fill a screen. */
const MAX_VIOLATIONS = 50;

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  readonly code?: string | undefined;
  readonly keys?: readonly string[] | undefined;
}

/** The pipe behind every `@Body({ schema })`, `@Query({ schema })` and `@Param(…, { schema })`. */
export function validationPipe(): StandardSchemaValidationPipe {
  return new StandardSchemaValidationPipe({ exceptionFactory: (issues) => invalidRequest(issues as readonly Issue[]) });
}

/** `value` as the schema gives it back, or INVALID_REQUEST with a pointer per fault. For GraphQL, which has no pipes. */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value);
  if (!result.success) throw invalidRequest(result.error.issues as readonly Issue[]);
  return result.data;
}

/** INVALID_REQUEST that names each field and what is wrong with it. */
export function invalidRequest(issues: readonly Issue[]): DomainError {
  const violations = issues.flatMap(toViolations).slice(0, MAX_VIOLATIONS);
  const first = violations[0];
  const where = first === undefined || first.pointer === '' ? 'the request' : first.pointer;
  const more = violations.length > 1 ? `; ${violations.length - 1} more in errors` : '';
  return new DomainError('INVALID_REQUEST', `${where}: ${first?.detail ?? 'is not valid'}${more}`, violations);
}

function toViolations(issue: Issue): Violation[] {
  const path = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part));
  if (issue.code !== 'unrecognized_keys') return [{ pointer: pointerOf(path), detail: issue.message }];
  return (issue.keys ?? []).map((key) => ({
    pointer: pointerOf([...path, key]),
    detail: `unknown field ${JSON.stringify(key.slice(0, 100))}; check its spelling or leave it out`,
  }));
}

/** RFC 6901. */
export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
