import type { DomainErrorCode } from '@coxswain/domain-error';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { z } from 'zod';

/** A header of a request, or of an answer. */
export interface DescribedHeader {
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType;
}

/** What a parameter of a handler reads from the request, and what can be refused because of it. */
export interface ReadFromRequest {
  readonly headers: readonly DescribedHeader[];
  readonly refusals: readonly DomainErrorCode[];
}

const described = new WeakMap<object, ReadFromRequest>();

/** A decorator for a parameter that is read from headers. The OpenAPI document says of each route that uses it what is given here. */
export function describedParameter<T>(
  reads: ReadFromRequest,
  read: (context: ExecutionContext) => T,
): () => ParameterDecorator {
  const factory = (_data: unknown, context: ExecutionContext): T => read(context);
  described.set(factory, reads);
  return createParamDecorator(factory);
}

/** What the factory of a parameter reads, as far as it was described. */
export function readBy(factory: unknown): ReadFromRequest | undefined {
  return typeof factory === 'function' ? described.get(factory) : undefined;
}
