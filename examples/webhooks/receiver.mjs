/**
 * A receiver of Coxswain's webhooks with nothing but Node: it verifies each message before it believes it.
 *
 *   WEBHOOK_SECRET=whsec_... PORT=8088 node receiver.mjs
 *
 * Put TLS in front of it; Coxswain sends to https alone.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const TOLERANCE_S = 300;
/** Messages of projects have at most a few KiB, and those of the audit at most 64 KiB. */
const MOST_BYTES = 1_048_576;

/** The message, or undefined when it was not signed with the secret, or long ago. `body` is the text as it came: parsed and written again it is another. */
export function verified(headers, body, secret, nowS = Date.now() / 1000) {
  const id = headers['webhook-id'] ?? '';
  const timestamp = headers['webhook-timestamp'] ?? '';
  if (!(Math.abs(nowS - Number(timestamp)) <= TOLERANCE_S)) return undefined;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
  const isSigned = (headers['webhook-signature'] ?? '').split(' ').some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64');
    return signature.startsWith('v1,') && given.length === wanted.length && timingSafeEqual(given, wanted);
  });
  return isSigned ? { id, ...JSON.parse(body) } : undefined;
}

/** A server that hands each message on once: the same id may come again. */
export function receiver(secret, onMessage) {
  const seen = new Set();
  return createServer((request, response) => {
    const chunks = [];
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes <= MOST_BYTES) chunks.push(chunk);
      // Coxswain then sends fewer entries of the audit at once.
      else if (!response.headersSent) response.writeHead(413, { connection: 'close' }).end();
    });
    request.on('end', () => {
      if (bytes > MOST_BYTES) return response;
      const message = verified(request.headers, Buffer.concat(chunks).toString(), secret);
      if (message === undefined) return response.writeHead(401).end();
      if (!seen.has(message.id)) onMessage(message);
      seen.add(message.id);
      return response.writeHead(204).end();
    });
  });
}

if (process.argv[1] === import.meta.filename) {
  const secret = process.env.WEBHOOK_SECRET ?? '';
  if (!secret.startsWith('whsec_')) throw new Error('set WEBHOOK_SECRET to what `coxswain webhooks add` printed');
  receiver(secret, ({ id, type, timestamp, data }) => {
    console.log(
      `${timestamp} ${type} ${data.job?.name ?? data.project} ${JSON.stringify(data.incident ?? data)} (${id})`,
    );
  }).listen(Number(process.env.PORT ?? 8088));
}
