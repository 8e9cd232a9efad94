/** How does the API send a request to the operator, on the port of its launchers? Any replica may answer; one of them leads. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { parseForeignJson } from '@coxswain/safe-text';
import { z } from 'zod';
import type { Config } from '../config/config.ts';

const MAX_REFUSAL_CHARACTERS = 16_384;
/** An operator waits 8 s for its launchers. */
const WITHIN_MS = 15_000;

/** A request to one replica of the operator. `target` names the replica; aborting `signal` ends the request. */
export interface OperatorRequest {
  readonly method: 'GET' | 'POST';
  readonly target: URL;
  readonly accept: string;
  readonly signal: AbortSignal;
}

/** Rejects where nobody answers. The authority and the token are read anew each time. */
export async function requestOperator(
  { caFile, tokenFile }: Config['operator'],
  { method, target, accept, signal }: OperatorRequest,
): Promise<IncomingMessage> {
  const [ca, token] = await Promise.all([
    caFile === undefined ? undefined : readFile(caFile, 'utf8'),
    tokenFile === undefined ? undefined : readFile(tokenFile, 'utf8'),
  ]);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { accept, ...(token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }) };
  const options = { method, signal, headers, agent: false, ...(ca === undefined ? {} : { ca }) };
  const sent = httpsRequest(target, options, resolve);
  sent.on('error', reject);
  sent.end();
  return promise;
}

const Refusal = z.object({
  title: z.string().optional().catch(undefined),
  againInMs: z.number().min(0).optional().catch(undefined),
  leaderUrl: z
    .string()
    .regex(/^https:\/\//)
    .optional()
    .catch(undefined),
});
/** What an operator says that does not answer. Where it names a leader, that one is to be asked. */
export type OperatorRefusal = z.infer<typeof Refusal>;

/** Reads why an operator refused; an empty object if the body has another form, so that the error names the status alone. */
export async function refusalOf(response: IncomingMessage): Promise<OperatorRefusal> {
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > MAX_REFUSAL_CHARACTERS) break;
  }
  try {
    return Refusal.parse(parseForeignJson(text));
  } catch {
    return {};
  }
}

/** What the leading operator answered, or why it did not. */
export type OperatorAnswer<Answer> =
  | { readonly kind: 'answered'; readonly value: Answer }
  | (Pick<OperatorRefusal, 'title' | 'againInMs'> & { readonly kind: 'refused'; readonly status: number })
  /** None of the operator's replicas answers, or none leads. */
  | { readonly kind: 'unreachable'; readonly why: string };

/** Asks one replica after the other, and the leader as soon as one names it. `read` throws if the answer is something else. */
export async function askOperator<Answer>(
  operator: Config['operator'],
  { path, query }: { readonly path: string; readonly query: Readonly<Record<string, string>> },
  signal: AbortSignal,
  read: (response: IncomingMessage) => Promise<Answer>,
): Promise<OperatorAnswer<Answer>> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]);
  const urls = [...operator.seriesUrls];
  const asked = new Set<string>();
  let why = 'no address of it is configured (COXSWAIN_OPERATOR_SERIES_URLS)';
  for (let url = urls.shift(); url !== undefined && !until.aborted; url = urls.shift()) {
    if (asked.has(url)) continue;
    asked.add(url);
    try {
      const target = new URL(path, url);
      for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
      const accept = 'application/json';
      const response = await requestOperator(operator, { method: 'POST', target, accept, signal: until });
      if (response.statusCode === 200) return { kind: 'answered', value: await read(response) };
      const { title, againInMs, leaderUrl } = await refusalOf(response);
      const status = response.statusCode ?? 0;
      if (status !== 503) return { kind: 'refused', status, title, againInMs };
      if (leaderUrl !== undefined) urls.unshift(leaderUrl);
      why = title ?? 'it is not ready';
    } catch (error) {
      why = (error as Error).message;
    }
  }
  return { kind: 'unreachable', why };
}

/** The bytes of an answer. Throws if it has more. */
export async function bytesOf(response: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`its answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
