import type { FastifyReply, FastifyRequest } from 'fastify';
import { abortOnDisconnect } from './client-disconnect.ts';
import { describedParameter } from './described-parameter.ts';
import { keyOfRequest, READS_IDEMPOTENCY_KEY } from './idempotency-key.ts';

/** How a request is asked: under which Idempotency-Key, if any, and for how long somebody waits for its answer. */
export interface Asking {
  readonly key: string | undefined;
  readonly gone: AbortSignal;
}

/** See {@link Asking}. For requests that take seconds and can be repeated. */
export const Asking = describedParameter(READS_IDEMPOTENCY_KEY, (context): Asking => {
  const http = context.switchToHttp();
  return {
    key: keyOfRequest(http.getRequest<FastifyRequest>()),
    gone: abortOnDisconnect(http.getResponse<FastifyReply>().raw),
  };
});
