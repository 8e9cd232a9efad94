/** Validates requests at the edge of a program; inside, a `PlanRequest` is valid. */
import { DomainError, type Violation } from '@coxswain/domain-error';
import { PlanRequest, type PlanRequestInput } from '../contract.ts';

/**
 * Validates a request and fills in defaults.
 *
 * @throws DomainError INVALID_REQUEST with one violation per error. Presets are looked up later, by `resolveRequest`.
 */
export function parsePlanRequest(input: PlanRequestInput): PlanRequest {
  const parsed = PlanRequest.safeParse(input);
  if (parsed.success) return parsed.data;
  const violations = parsed.error.issues.map((issue): Violation => ({
    pointer: issue.path.map((part) => `/${String(part)}`).join(''),
    detail: issue.message,
  }));
  const messages = violations.map(({ pointer, detail }) => `${pointer === '' ? 'the request' : pointer}: ${detail}`);
  throw new DomainError('INVALID_REQUEST', messages.join('; '), violations);
}
