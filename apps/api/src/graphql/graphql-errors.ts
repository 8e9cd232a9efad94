import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { toProblem } from '../http/problem.ts';

/** An error as it is answered: the message and `code` that REST would give, and nothing of the inside of others. */
export function toGraphqlError(error: unknown): GraphQLFormattedError {
  if (!(error instanceof GraphQLError)) return { message: toProblem(error).detail, extensions: extensionsOf(error) };
  const { locations, path, originalError } = error;
  const where = { ...(locations === undefined ? {} : { locations }), ...(path === undefined ? {} : { path }) };
  // Without an original it is about the query itself.
  if (originalError === undefined || originalError === null || originalError instanceof GraphQLError) {
    return { message: error.message, ...where, extensions: { code: 'INVALID_REQUEST' } };
  }
  return { message: toProblem(originalError).detail, ...where, extensions: extensionsOf(originalError) };
}

function extensionsOf(error: unknown): Record<string, unknown> {
  const { code, errors } = toProblem(error);
  return { code, ...(errors === undefined ? {} : { errors }) };
}
