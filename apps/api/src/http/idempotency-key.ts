import { DomainError } from '@coxswain/domain-error';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** The checked `Idempotency-Key`, if the request has one. */
export const IdempotencyKey = createParamDecorator((_data: unknown, context: ExecutionContext): string | undefined => {
  const header = context.switchToHttp().getRequest<FastifyRequest>().headers['idempotency-key'];
  return idempotencyKeyOf(Array.isArray(header) ? header.join(',') : header);
});

/** The `Idempotency-Key` of a request, checked; undefined when there is none. */
export function idempotencyKeyOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (/^[!-~]{1,200}$/.test(header)) return header;
  throw new DomainError(
    'INVALID_REQUEST',
    'Idempotency-Key must be 1 to 200 printable ASCII characters without spaces',
  );
}
