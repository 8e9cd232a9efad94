import type { Problem } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import type { GraphQLError, GraphQLFormattedError } from 'graphql';
import { toProblem } from '../http/problem.ts';
import { MAX_QUERY_DEPTH } from './query-limits.ts';

/** Called with each error that is ours, before it is masked. */
export type ReportError = (error: unknown) => void;

/** Most errors of one answer. */
const MAX_ERRORS = 50;

/** Errors as they are answered: message, `code` and pointers as REST would give them, and nothing of the inside of others. */
export function toGraphqlErrors(errors: readonly unknown[], report: ReportError): readonly GraphQLFormattedError[] {
  return errors.slice(0, MAX_ERRORS).map((error) => toGraphqlError(error, report));
}

function toGraphqlError(error: unknown, report: ReportError): GraphQLFormattedError {
  const cause = causeOf(error);
  const problem = toProblem(cause);
  if (problem.status === 500) report(cause);
  const { locations, path } = isGraphqlError(error) ? error : {};
  return {
    message: problem.detail,
    ...(locations === undefined ? {} : { locations }),
    ...(path === undefined ? {} : { path }),
    extensions: extensionsOf(problem),
  };
}

/**
 * What went wrong, as the rest of the API knows it. What a resolver throws arrives as the original of a GraphQLError with a path; a
 * GraphQLError without a path is about the query or its variables, and so is an original that points at a part of the query (an argument).
 */
function causeOf(error: unknown): unknown {
  if (isTooDeep(error)) {
    const detail = `the query is nested more than ${MAX_QUERY_DEPTH} levels deep; ask in several requests`;
    return new DomainError('INVALID_REQUEST', detail);
  }
  if (!isGraphqlError(error)) return error;
  if (error.path === undefined) return new DomainError('INVALID_REQUEST', error.message);
  const { originalError } = error;
  const isAboutQuery = isGraphqlError(originalError) && originalError.nodes !== undefined;
  return isAboutQuery ? new DomainError('INVALID_REQUEST', originalError.message) : (originalError ?? error);
}

/** Counted after parsing, or so deep that the parser ran out of stack. */
function isTooDeep(error: unknown): boolean {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  return code === 'MER_ERR_GQL_QUERY_DEPTH' || name === 'RangeError';
}

function extensionsOf({ code, errors }: Problem): Record<string, unknown> {
  return { code, ...(errors === undefined ? {} : { errors }) };
}

/** By name: compiled queries have an error class of their own. */
function isGraphqlError(error: unknown): error is GraphQLError {
  return (error as { readonly name?: unknown } | null)?.name === 'GraphQLError';
}
