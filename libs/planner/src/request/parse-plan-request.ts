/** Is what somebody asks a request at all? Asked once, at the edge of a program; inside, a `PlanRequest` is valid. */
import { DomainError, type Violation } from '@coxswain/domain-error';
import { PlanRequest, type PlanRequestInput } from '../contract.ts';

/**
 * A request with its defaults filled in.
 *
 * @throws DomainError INVALID_REQUEST with one violation per fault. Whether its presets exist is found out when it is resolved.
 */
export function parsePlanRequest(input: PlanRequestInput): PlanRequest {
  const parsed = PlanRequest.safeParse(input);
  if (parsed.success) return parsed.data;
  const violations = parsed.error.issues.map((issue): Violation => ({
    pointer: issue.path.map((part) => `/${String(part)}`).join(''),
    detail: issue.message,
  }));
  const told = violations.map(({ pointer, detail }) => `${pointer === '' ? 'the request' : pointer}: ${detail}`);
  throw new DomainError('INVALID_REQUEST', told.join('; '), violations);
}
