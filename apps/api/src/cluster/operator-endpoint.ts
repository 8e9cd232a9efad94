/** How does the API send a request to the operator, on the port of its launchers? Any replica may answer; one of them leads. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { parseForeignJson } from '@coxswain/safe-text';
import { z } from 'zod';
import type { Config } from '../config/config.ts';

const MAX_REFUSAL_CHARACTERS = 16_384;

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
