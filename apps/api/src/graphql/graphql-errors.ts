import type { Problem } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { toProblem } from '../http/problem.ts';
import { tooDeep } from './query-limits.ts';

/** Called with each error that is ours, before it is masked. */
export type ReportError = (error: unknown) => void;

/** Most errors of one answer. */
const MAX_ERRORS = 50;

/** Errors as they are answered: message, `code` and pointers as REST would give them, and nothing of the inside of others. */
export function toGraphqlErrors(errors: readonly unknown[], report: ReportError): readonly GraphQLFormattedError[] {
  const reported = new Set<unknown>();
  // What was read for many at once fails for each of them, and is one failure.
  const once: ReportError = (cause) => {
    if (!reported.has(cause)) report(cause);
    reported.add(cause);
  };
  return errors.slice(0, MAX_ERRORS).map((error) => toGraphqlError(error, once));
}

function toGraphqlError(error: unknown, report: ReportError): GraphQLFormattedError {
  const cause = causeOf(error);
  const problem = toProblem(cause);
  if (problem.status === 500) report(cause);
  const { locations, path } = error instanceof GraphQLError ? error : {};
  return {
    message: problem.detail,
    ...(locations === undefined ? {} : { locations }),
    ...(path === undefined ? {} : { path }),
    extensions: extensionsOf(problem),
  };
}

/**
 * The error as the rest of the API knows it. An error that a resolver throws is the original of a GraphQLError with a path. A GraphQLError without a
 * path is about the query or its variables. So is an original that points at a part of the query (an argument).
 */
function causeOf(error: unknown): unknown {
  if (error instanceof RangeError) return tooDeep();
  if (!(error instanceof GraphQLError)) return error;
  if (error.path === undefined) return new DomainError('INVALID_REQUEST', error.message);
  const { originalError } = error;
  const isAboutQuery = originalError instanceof GraphQLError && originalError.nodes !== undefined;
  return isAboutQuery ? new DomainError('INVALID_REQUEST', originalError.message) : (originalError ?? error);
}

function extensionsOf({ code, errors }: Problem): Record<string, unknown> {
  return { code, ...(errors === undefined ? {} : { errors }) };
}
