import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * So long nothing of an answer may be taken. What waits for a reader lies in our memory and in the kernel's, which counts as the container's, and strangers
 * can ask for the API's description and the page.
 */
export const UNREAD_MS = 20_000;

/** Closes connections whose client has stopped reading a waiting answer. A client that reads slowly gets the whole answer. Streams check their readers themselves. */
export function cutSlowReaders(fastify: FastifyInstance, { unreadMs }: { readonly unreadMs: number }): void {
  fastify.addHook('onSend', (_request, { raw }, payload, done) => {
    // Node sets it back where the connection is used again. A reset, because what was sent would stay in the kernel until the reader has it.
    // What a test injects has no connection: its timer would go off long after the answer.
    if (raw.socket instanceof Socket) raw.setTimeout(unreadMs, () => raw.socket?.resetAndDestroy());
    done(null, payload);
  });
}
