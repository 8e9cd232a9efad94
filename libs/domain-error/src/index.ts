/**
 * Every code of a rejected request. Programs branch on the code, people read the message.
 *
 * A message names the field, the value, the rule and what to do instead. Outcomes a caller must handle are unions in return types,
 * not errors; failures of the system are ordinary exceptions.
 */
export const DOMAIN_ERROR_CODES = [
  'INVALID_REQUEST',
  'INVALID_LAYOUT',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'NAME_TAKEN',
  'CONFLICT',
  'PRECONDITION_FAILED',
  'PRECONDITION_REQUIRED',
  'IDEMPOTENCY_KEY_REUSED',
  'NOT_SUSPENDED',
  'ALREADY_FINISHED',
  'TOO_LARGE',
  'RATE_LIMITED',
  'OVER_BUDGET',
  'UNAVAILABLE',
] as const;

/** One of {@link DOMAIN_ERROR_CODES}. */
export type DomainErrorCode = (typeof DOMAIN_ERROR_CODES)[number];

/** One error of a request: `pointer` is an RFC 6901 JSON pointer into the body ('' is the whole body). */
export interface Violation {
  readonly pointer: string;
  readonly detail: string;
}

/** A rejected request: a code, a message, and one violation for each error. */
export class DomainError extends Error {
  readonly code: DomainErrorCode;
  readonly violations: readonly Violation[];

  constructor(code: DomainErrorCode, message: string, violations: readonly Violation[] = []) {
    super(message);
    this.name = 'DomainError';
    this.code = code;
    this.violations = violations;
  }
}

/** Whether `error` is a {@link DomainError}, optionally of the given code. */
export function isDomainError(error: unknown, code?: DomainErrorCode): error is DomainError {
  return error instanceof DomainError && (code === undefined || error.code === code);
}
