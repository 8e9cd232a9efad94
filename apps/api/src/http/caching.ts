import { DomainError } from '@coxswain/domain-error';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { etagOf, outcomeOfReading } from './etag.ts';
import { toProblem } from './problem.ts';

/*
 * Who may keep an answer, and which is not sent a second time? Every answer says so, refusals included:
 *
 * - What a GET of the API answers may be kept by who asked, by nobody on the way, and is asked for again each time (`private, no-cache`): that costs a
 *   304 where nothing has changed. Another token or session is another asker (`Vary`).
 * - Files of the page whose names hold a hash never change. Its other files and the API's description are asked for again each time.
 * - All else is not kept: changes, refusals, streams, what says how the process fares.
 */

const PRIVATE = 'private, no-cache';
const ASK_AGAIN = 'no-cache';
const NEVER = 'no-store';
const FOR_EVER = 'public, max-age=31536000, immutable';
/** As the page's build names files: NAME-HASH.EXTENSION. */
const HASHED_FILE = /[\\/]assets[\\/][^\\/]+-[\w-]{8}\.\w+$/;

/** Of an answer that says how often what was asked for has changed (`specVersion` of a job): its tag says so too. */
const versions = new WeakMap<FastifyReply, number>();

/** `Cache-Control` of a file of the page. */
export function cacheControlOfFile(path: string): string {
  return HASHED_FILE.test(path) ? FOR_EVER : ASK_AGAIN;
}

/** Adds tags and headers to every answer, and keeps back those that the asker has. A reply that was taken over (a stream) says `no-store` itself. */
export function controlCaching(fastify: FastifyInstance): void {
  fastify.addHook('preSerialization', (_request, reply, answer, done) => {
    const version = (answer as { readonly specVersion?: unknown }).specVersion;
    if (typeof version === 'number') versions.set(reply, version);
    done(null, answer);
  });
  fastify.addHook('onSend', (request, reply, payload, done) => done(null, conditional(request, reply, payload)));
}

function conditional(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (!reply.hasHeader('cache-control')) void reply.header('cache-control', cacheControlOf(request, reply));
  const isReading = isKept(request, reply);
  const version = versions.get(reply);
  const tag = reply.getHeader('etag');
  if (Buffer.isBuffer(payload) && typeof tag === 'string' && isReading)
    return asConditionsSay(request, reply, { etag: tag, payload });
  // A file has a tag already.
  if (typeof payload !== 'string' || !(isReading || version !== undefined)) return payload;
  if (reply.getHeader('cache-control') === PRIVATE) void reply.header('vary', 'authorization, cookie');
  const etag = etagOf(payload, version);
  void reply.header('etag', etag);
  return isReading ? asConditionsSay(request, reply, { etag, payload }) : payload;
}

function asConditionsSay(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: { readonly etag: string; readonly payload: string | Buffer },
): unknown {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  switch (outcomeOfReading({ ifMatch, ifNoneMatch }, answer.etag)) {
    case 'send':
      return answer.payload;
    case 'not modified':
      void reply.code(304).removeHeader('content-type').removeHeader('content-length');
      void reply.removeHeader('content-encoding');
      // Fastify takes the length from what an answer to HEAD would have held.
      return request.method === 'HEAD' ? answer.payload : null;
    case 'precondition failed': {
      const failed = new DomainError(
        'PRECONDITION_FAILED',
        `what is here has the tag ${answer.etag} now; read it again`,
      );
      void reply
        .code(412)
        .removeHeader('content-length')
        .removeHeader('content-encoding')
        .header('cache-control', NEVER);
      void reply.header('content-type', 'application/problem+json; charset=utf-8');
      return JSON.stringify(toProblem(failed, request.url.split('?')[0]));
    }
  }
}

function cacheControlOf(request: FastifyRequest, reply: FastifyReply): string {
  if (!isKept(request, reply)) return NEVER;
  return request.url.startsWith('/v1/') ? PRIVATE : ASK_AGAIN;
}

function isKept(request: FastifyRequest, reply: FastifyReply): boolean {
  if (reply.statusCode !== 200 || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
  const type = String(reply.getHeader('content-type') ?? '');
  // The page stands at every address that a person may open.
  return request.url.startsWith('/v1/') || request.url.startsWith('/openapi.json') || type.startsWith('text/html');
}
