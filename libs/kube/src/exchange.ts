import { makeGate } from './call-gate.ts';
import type { CallOptions, ClientLimits, KubeStream, StreamOptions } from './kube-client.ts';
import type { Clock } from './clock.ts';
import { KubeApiError, errorFromAnswer } from './errors.ts';
import { parseObject } from './parse-object.ts';
import { timeLimit, type TimeLimit } from './time-limit.ts';
import type { KubeTransport, TransportAnswer, TransportRequest } from './transport.ts';
import { GuardRefusal, unanswered } from './transport.ts';

/** Default time limit of a call. */
export const DEFAULT_TIMEOUT_MS = 15_000;

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** A request with a JSON answer. */
export interface JsonRequest {
  readonly method: TransportRequest['method'];
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
  /** The answer is a list: its first managed fields are those of an item. */
  readonly isList?: boolean;
}

/** One request and its answer. Rejects with KubeApiError, or with what the call's guard threw. */
export interface Exchange {
  json<T>(what: JsonRequest, call: CallOptions): Promise<T>;
  stream(path: string, call: StreamOptions): Promise<KubeStream>;
}

/** Sends requests over a transport within the client's limits, and retries once if credentials have expired. */
export function makeExchange(
  transport: KubeTransport,
  options: ClientLimits & { readonly userAgent: string; readonly clock: Clock },
): Exchange {
  const { clock } = options;
  const gate = makeGate(options, clock);

  /** A 401 is answered before anything is carried out, so one more try with fresh credentials is safe for every verb. */
  const sendAuthenticated = async (what: TransportRequest): Promise<TransportAnswer> => {
    const answer = await transport.send(what);
    if (answer.status !== 401) return answer;
    await readText(answer.body);
    transport.refreshCredentials();
    return transport.send(what);
  };

  const json = async <T>(what: JsonRequest, call: CallOptions): Promise<T> => {
    const release = await gate.enter(call);
    const wantedMs = call.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const limit = timeLimit(clock, Math.min(wantedMs, call.atMostMs?.() ?? Infinity), call.signal);
    const path = what.path + queryString(what.query);
    try {
      const answer = await sendAuthenticated({
        method: what.method,
        path,
        headers: {
          accept: 'application/json',
          'user-agent': options.userAgent,
          ...(what.contentType === undefined ? {} : { 'content-type': what.contentType }),
        },
        ...(what.body === undefined ? {} : { body: JSON.stringify(what.body) }),
        signal: limit.signal,
        pool: call.lane === 'lease' ? 'stream' : 'api',
        ...(call.guard === undefined ? {} : { guard: call.guard }),
      });
      return parseAnswer<T>(what, answer, await readText(answer.body));
    } catch (error) {
      if (error instanceof GuardRefusal) throw error.cause;
      throw unanswered({ method: what.method, path }, limit.signal.aborted ? limit.signal.reason : error);
    } finally {
      limit.done();
      release();
    }
  };

  const stream = async (path: string, call: StreamOptions): Promise<KubeStream> => {
    const limit = timeLimit(clock, call.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS, call.signal);
    const what = { method: 'GET' as const, path: path + queryString(call.query) };
    try {
      const answer = await sendAuthenticated({
        ...what,
        headers: { accept: call.accept ?? 'application/json', 'user-agent': options.userAgent },
        signal: limit.signal,
        pool: 'stream',
      });
      if (!isSuccess(answer.status)) throw refusal(what, answer, await readText(answer.body));
      limit.headArrived();
      return { ...answer, body: typedErrors(what, answer.body, limit) };
    } catch (error) {
      limit.done();
      throw unanswered(what, limit.signal.aborted ? limit.signal.reason : error);
    }
  };
  return { json, stream };
}

async function* typedErrors(
  what: Pick<TransportRequest, 'method' | 'path'>,
  body: AsyncIterable<Uint8Array>,
  limit: TimeLimit,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw unanswered(what, limit.signal.aborted ? limit.signal.reason : error);
  } finally {
    limit.done();
  }
}

function parseAnswer<T>(what: JsonRequest, answer: TransportAnswer, text: string): T {
  if (!isSuccess(answer.status)) throw refusal(what, answer, text);
  try {
    return (what.isList === true ? JSON.parse(text) : parseObject(text)) as T;
  } catch (cause) {
    throw new KubeApiError({
      status: 0,
      reason: 'MalformedAnswer',
      message: `${what.method} ${what.path} was answered ${answer.status} with a body that is not JSON`,
      cause,
    });
  }
}

function refusal(what: { method: string; path: string }, answer: TransportAnswer, body: string): KubeApiError {
  const request = `${what.method} ${what.path.split('?')[0] ?? what.path}`;
  return errorFromAnswer({ status: answer.status, body, retryAfter: answer.headers['retry-after'], request });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

async function readText(body: TransportAnswer['body']): Promise<string> {
  if (body.text !== undefined) return body.text();
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function queryString(query: Query | undefined): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
