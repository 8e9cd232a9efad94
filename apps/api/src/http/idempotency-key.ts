import { DomainError } from '@coxswain/domain-error';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { describedParameter, type ReadFromRequest } from './described-parameter.ts';

const FORM = /^[!-~]{1,200}$/;

/** What the OpenAPI document says of the key. */
export const READS_IDEMPOTENCY_KEY: ReadFromRequest = {
  headers: [
    {
      name: 'Idempotency-Key',
      description:
        'Chosen by the caller; for a day a repetition under it does nothing and is answered with what was made, as it is by then.',
      schema: z.string().regex(FORM),
    },
  ],
  refusals: ['CONFLICT', 'IDEMPOTENCY_KEY_REUSED'],
};

/** The checked `Idempotency-Key`, if the request has one. */
export const IdempotencyKey = describedParameter(READS_IDEMPOTENCY_KEY, (context): string | undefined =>
  keyOfRequest(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** The `Idempotency-Key` of a request, or undefined if it has none. Throws INVALID_REQUEST for a malformed or repeated header. */
export function keyOfRequest({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const header = headers['idempotency-key'];
  return idempotencyKeyOf(Array.isArray(header) ? header.join(',') : header);
}

/** The `Idempotency-Key` of a request, checked; undefined when there is none. */
export function idempotencyKeyOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (FORM.test(header)) return header;
  throw new DomainError(
    'INVALID_REQUEST',
    'Idempotency-Key must be 1 to 200 printable ASCII characters without spaces',
  );
}
