/** How does a message reach an endpoint, and nothing else? */
import { Resolver } from 'node:dns/promises';
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  type RequestOptions,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { addressJudge } from '../webhooks/address-rules.ts';
import { type CallRules, hostOf, urlProblem } from '../webhooks/url-rules.ts';
import type { Answer } from './retry-rules.ts';

/** From the first question for the name to the last byte. */
export const ATTEMPT_MS = 15_000;
/** The most bytes of an answer that are read and discarded; a longer answer is cut off. */
const MOST_ANSWER_BYTES = 16_384;
const RESOLVE = { timeout: 3_000, tries: 2 };

/** A signed message, ready to be posted. */
export interface OutgoingMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Addresses of a name. Not from `getaddrinfo`: it blocks one of four threads that the whole process shares, for as long as the name's owner likes. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** Which addresses may be called, and for how long. */
export interface PostOptions {
  readonly rules: CallRules;
  /** Ends the attempt early. */
  readonly signal: AbortSignal;
  readonly resolve?: Resolve;
  /** PEM: authorities instead of those of Node.js, and a certificate to show. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** Default: {@link ATTEMPT_MS}. */
  readonly attemptMs?: number;
}

/**
 * Posts it once and says what came of that; never rejects. The name is resolved here, and the connection goes to an address that was judged: what the name
 * leads to a moment later counts for nothing. No redirect is followed.
 */
export async function postMessage(message: OutgoingMessage, options: PostOptions): Promise<Answer> {
  const { rules, tls = {}, resolve = resolveName, attemptMs = ATTEMPT_MS } = options;
  const timeout = AbortSignal.timeout(attemptMs);
  const signal = AbortSignal.any([options.signal, timeout]);
  try {
    // Rules may have changed since the endpoint was made.
    if (urlProblem(message.url, rules) !== undefined) return { trouble: 'its URL is not allowed any more' };
    const url = new URL(message.url);
    const addresses = await addressesOf(hostOf(url), { resolve, signal });
    if (addresses.length === 0) return { trouble: 'its name has no address' };
    const allowed = addresses.filter(addressJudge(rules.allowedRanges));
    if (allowed.length === 0) return { trouble: 'its address is private, of this machine or reserved' };
    return await answerOf(url, message, { allowed, tls, signal });
  } catch (error) {
    return { trouble: timeout.aborted ? `no answer within ${attemptMs / 1000} s` : troubleWords(error) };
  }
}

async function addressesOf(
  host: string,
  { resolve, signal }: { readonly resolve: Resolve; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  return Promise.race([resolve(host), aborted]);
}

async function resolveName(name: string): Promise<readonly string[]> {
  const resolver = new Resolver(RESOLVE);
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
}

function answerOf(
  url: URL,
  { headers, body }: OutgoingMessage,
  {
    allowed,
    tls,
    signal,
  }: {
    readonly allowed: readonly string[];
    readonly tls: NonNullable<PostOptions['tls']>;
    readonly signal: AbortSignal;
  },
): Promise<Answer> {
  const options: RequestOptions & NonNullable<PostOptions['tls']> = {
    ...tls,
    method: 'POST',
    agent: false,
    signal,
    lookup: ((_name: string, { all }: { all?: boolean }, done: (...found: unknown[]) => void) => {
      const list = allowed.map((address) => ({ address, family: isIP(address) }));
      if (all === true) done(null, list);
      else done(null, list[0]?.address, list[0]?.family);
    }) as NonNullable<RequestOptions['lookup']>,
    headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
  };
  return new Promise((resolve, reject) => {
    const call: ClientRequest = url.protocol === 'http:' ? requestHttp(url, options) : requestHttps(url, options);
    call.on('error', reject);
    call.on('response', (answer) => {
      readAway(answer).then(() => resolve({ status: answer.statusCode ?? 0, ...retryAfterOf(answer.headers) }), reject);
    });
    call.end(body);
  });
}

/** RFC 9110, 10.2.3: seconds, or a date, which is read by the clock of the endpoint that wrote it. */
function retryAfterOf({
  'retry-after': asked = '',
  date = '',
}: IncomingHttpHeaders): Pick<Extract<Answer, { readonly status: number }>, 'retryAfterMs'> {
  const ms = /^\d{1,9}$/.test(asked) ? 1_000 * Number(asked) : Date.parse(asked) - Date.parse(date);
  return ms > 0 ? { retryAfterMs: ms } : {};
}

/** Reads to the end or the bound and discards the content. */
async function readAway(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > MOST_ANSWER_BYTES) break;
  }
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was closed without an answer',
  EPIPE: 'the connection was closed without an answer',
  EHOSTUNREACH: 'there is no way there',
  ENETUNREACH: 'there is no way there',
  ABORT_ERR: 'this program stopped meanwhile',
};

/** Why nothing was taken, of a code alone: a message may hold addresses, and what the other side wrote. */
export function troubleWords(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  const known = typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'unknown';
  if (/^(CERT|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|ERR_TLS|ERR_SSL)/.test(known)) return `TLS failed (${known})`;
  return WORDS[known] ?? `it could not be reached (${known})`;
}
