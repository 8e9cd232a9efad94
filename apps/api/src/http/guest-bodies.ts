import { DomainError } from '@coxswain/domain-error';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ruleOfRoute } from '../auth/access-rules.ts';

/*
 * Decides whose bodies are read. A body takes memory while it arrives, up to half a minute, and parsing it costs more than refusing it. So a request
 * with a body is authenticated before its first byte is read: unauthenticated clients take no memory, and a project no more than its limit.
 */

/** Of what strangers send to sign in. Three tokens of an issuer are at most 48 kB. */
export const MAX_PUBLIC_BODY_BYTES = 65_536;

/** Lets a request in, or throws why not. */
export type Enter = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** Refuses before their bodies are read those who may not ask, and what is sent to no address of ours. To be called before there are routes. */
export function readBodiesOfGuests(fastify: FastifyInstance, enter: Enter): void {
  fastify.addHook('onRoute', (route) => {
    const methods = [route.method].flat();
    if (methods.some((method) => isPublic(method, route.url))) route.bodyLimit = MAX_PUBLIC_BODY_BYTES;
  });
  fastify.addHook('onRequest', async (request, reply) => {
    // Of these no body is read.
    if (request.method === 'GET' || request.method === 'HEAD') return;
    const { url } = request.routeOptions;
    if (request.is404 || url === undefined) {
      throw new DomainError('NOT_FOUND', `nothing is here to ${request.method}; see /openapi.json`);
    }
    if (!isPublic(request.method, url)) await enter(request, reply);
  });
}

function isPublic(method: string, url: string): boolean {
  return ruleOfRoute({ method, path: url.replace(/:(\w+)/g, '{$1}') }) === 'public';
}
