import 'reflect-metadata';
import { DomainError } from '@coxswain/domain-error';
import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import type { FastifyRequest } from 'fastify';
import { readBy } from './described-parameter.ts';
import { READS_IDEMPOTENCY_KEY } from './idempotency-key.ts';

const INSTEAD = 'coxswain:instead-of-idempotency-key';

/** Why a POST supports no Idempotency-Key and what to do instead: the message for a client that sends one. */
export const InsteadOfIdempotencyKey = (sentence: string): MethodDecorator => SetMetadata(INSTEAD, sentence);

/** Rejects an Idempotency-Key on a POST that does not support it, because the client relies on it. Other methods are idempotent by themselves. */
@Injectable()
export class IdempotencyKeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.method !== 'POST' || request.headers['idempotency-key'] === undefined) return true;
    if (readsIdempotencyKey(context)) return true;
    const instead = Reflect.getMetadata(INSTEAD, context.getHandler()) as string | undefined;
    throw new DomainError(
      'INVALID_REQUEST',
      `this address honours no Idempotency-Key: a repetition would be carried out again. ${instead ?? 'Leave the header out'}`,
    );
  }
}

/** As the parameters of the handler say. */
function readsIdempotencyKey(context: ExecutionContext): boolean {
  const { name } = context.getHandler();
  const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), name) ?? {}) as Record<
    string,
    { readonly factory?: unknown }
  >;
  return Object.values(args).some(({ factory }) => readBy(factory) === READS_IDEMPOTENCY_KEY);
}
