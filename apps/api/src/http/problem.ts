import type { Problem } from '@coxswain/api-types';
import { DomainError, type DomainErrorCode } from '@coxswain/domain-error';
import { cutText } from '@coxswain/safe-text';
import { isOverTime, isUnavailable, isUnstorableText, PoolBusyError } from '@coxswain/persistence';
import { sentenceOfConstraint } from './constraint-sentences.ts';

/** HTTP status of every code. A new code does not compile until it is here. */
export const STATUS_BY_CODE: Record<DomainErrorCode, number> = {
  INVALID_REQUEST: 400,
  INVALID_LAYOUT: 422,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  NAME_TAKEN: 409,
  CONFLICT: 409,
  PRECONDITION_FAILED: 412,
  PRECONDITION_REQUIRED: 428,
  IDEMPOTENCY_KEY_REUSED: 422,
  NOT_SUSPENDED: 409,
  ALREADY_FINISHED: 409,
  TOO_LARGE: 413,
  RATE_LIMITED: 429,
  OVER_BUDGET: 422,
  UNAVAILABLE: 503,
};

/** What a code means, in a few words. */
export const TITLES: Record<DomainErrorCode, string> = {
  INVALID_REQUEST: 'The request is not valid',
  INVALID_LAYOUT: 'The layout does not fit the model',
  UNAUTHENTICATED: 'A valid token is needed',
  FORBIDDEN: 'The token’s role does not allow this',
  NOT_FOUND: 'There is no such thing',
  NAME_TAKEN: 'The name is taken',
  CONFLICT: 'The request conflicts with what is going on',
  PRECONDITION_FAILED: 'The resource has changed',
  PRECONDITION_REQUIRED: 'A precondition is needed',
  IDEMPOTENCY_KEY_REUSED: 'The idempotency key was used for another request',
  NOT_SUSPENDED: 'The job is not suspended',
  ALREADY_FINISHED: 'The job is finished',
  TOO_LARGE: 'The request is too large',
  RATE_LIMITED: 'Too many requests',
  OVER_BUDGET: 'The question takes more than it may',
  UNAVAILABLE: 'The service is not available now',
};

/** Longest sentence: some repeat what was sent, and GraphQL repeats a whole variable for each thing that is wrong with it. */
export const MAX_DETAIL_CHARACTERS = 4_000;

/** What went wrong in terms of the closed list; undefined when it is our own fault. */
export function toDomainError(error: unknown): DomainError | undefined {
  if (error instanceof DomainError) return error;
  if (error instanceof PoolBusyError) {
    return new DomainError(
      'UNAVAILABLE',
      `${error.message}; try again in ${error.retryAfterSeconds} s, and send fewer requests at a time`,
    );
  }
  if (isOverTime(error)) {
    const detail =
      'the request reads more than the database could answer in its time; ask for fewer rows, or try again in a few seconds';
    return new DomainError('UNAVAILABLE', detail);
  }
  if (isUnavailable(error)) {
    return new DomainError('UNAVAILABLE', 'the database does not answer at the moment; try again in a second');
  }
  if (isUnstorableText(error)) {
    const detail =
      'a text of the request holds a NUL or half of a surrogate pair, which cannot be stored; leave it out';
    return new DomainError('INVALID_REQUEST', detail);
  }
  return sentenceOfConstraint(error) ?? fromHttpError(error);
}

/** The problem document of an error; `status` 500 says nothing about the inside. */
export function toProblem(error: unknown, instance?: string): Problem {
  const known = toDomainError(error);
  const where = instance === undefined ? {} : { instance };
  if (known === undefined) {
    return {
      type: 'about:blank',
      title: 'Something went wrong here',
      status: 500,
      code: 'INTERNAL',
      detail: 'the request failed for a reason that is not yours; it was recorded under the request id',
      ...where,
    };
  }
  return {
    type: `https://coxswain.dev/problems/${known.code.toLowerCase().replaceAll('_', '-')}`,
    title: TITLES[known.code],
    status: STATUS_BY_CODE[known.code],
    code: known.code,
    detail: inShort(known.message),
    ...where,
    ...(known.violations.length === 0
      ? {}
      : { errors: known.violations.map(({ pointer, detail }) => ({ pointer, detail: inShort(detail) })) }),
  };
}

function inShort(detail: string): string {
  return cutText(detail, MAX_DETAIL_CHARACTERS);
}

/** Errors of Fastify and Nest carry a status of the 4xx family; their texts are written for users. */
function fromHttpError(error: unknown): DomainError | undefined {
  const facts = error as { statusCode?: unknown; getStatus?: () => number; message?: unknown; code?: unknown };
  const status = typeof facts.getStatus === 'function' ? facts.getStatus() : facts.statusCode;
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined;
  const message = typeof facts.message === 'string' ? facts.message : 'the request is not valid';
  if (status === 404) return new DomainError('NOT_FOUND', message);
  if (status === 414) {
    return new DomainError('NOT_FOUND', 'a part of the address is longer than the name of anything here; check it');
  }
  if (status === 413) {
    const detail = 'the body is larger than 1 MB (1048576 bytes), or than 64 kB (65536 bytes) to sign in; send less';
    return new DomainError('TOO_LARGE', detail);
  }
  if (status === 429) return new DomainError('RATE_LIMITED', message);
  return new DomainError('INVALID_REQUEST', message);
}
