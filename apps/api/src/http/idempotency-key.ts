import { DomainError } from '@coxswain/domain-error';

/** The `Idempotency-Key` of a request, checked; undefined when there is none. */
export function idempotencyKeyOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (/^[!-~]{1,200}$/.test(header)) return header;
  throw new DomainError(
    'INVALID_REQUEST',
    'Idempotency-Key must be 1 to 200 printable ASCII characters without spaces',
  );
}
