import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';

import type { WatchEffect, WatchScript } from './faults.ts';
import { resetConnection } from './reset-connection.ts';

/** A watch between client and apiserver. */
export interface RelayedWatch {
  readonly target: RequestOptions & { readonly url: URL };
  readonly outgoing: ServerResponse;
  readonly script: WatchScript | undefined;
  readonly atOnce: 'reset' | 'close' | 'silence' | undefined;
}

/** Passes a watch on line by line, each as the script says; resolves when nothing more will be passed on. */
export async function relayWatch(watch: RelayedWatch): Promise<void> {
  const { outgoing } = watch;
  const { url, ...options } = watch.target;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = httpsRequest(url, { ...options, agent: undefined, ...tlsOf(options) }, resolve);
  sent.on('error', reject);
  outgoing.once('close', () => sent.destroy());
  sent.end();
  const answer = await promise;
  answer.on('error', () => undefined);
  const contentType = answer.headers['content-type'] ?? 'application/json';
  outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': contentType });
  outgoing.flushHeaders();
  if ((answer.statusCode ?? 0) >= 300) {
    answer.pipe(outgoing);
    return;
  }
  if (watch.atOnce !== undefined) return perform({ end: watch.atOnce }, { sent, outgoing });
  await relayLines(answer, { sent, outgoing, script: watch.script ?? ((line) => [{ send: line }]) });
}

interface Ends {
  readonly sent: ReturnType<typeof httpsRequest>;
  readonly outgoing: ServerResponse;
}

async function relayLines(answer: IncomingMessage, relay: Ends & { readonly script: WatchScript }): Promise<void> {
  let pending = '';
  let index = 0;
  answer.setEncoding('utf8');
  try {
    for await (const chunk of answer) {
      const lines = (pending + (chunk as string)).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) {
        for (const effect of relay.script(line, index)) {
          if ('waitMs' in effect) await new Promise((resolve) => setTimeout(resolve, effect.waitMs));
          else if ('until' in effect) await effect.until;
          else perform(effect, relay);
          if ('end' in effect) return;
        }
        index += 1;
      }
    }
    relay.outgoing.end();
  } catch {
    // The apiserver went away: so does the proxy, as abruptly.
    perform({ end: 'reset' }, relay);
  }
}

type Deed = Exclude<WatchEffect, { readonly waitMs: number } | { readonly until: Promise<unknown> }>;

function perform(effect: Deed, { sent, outgoing }: Ends): void {
  if ('send' in effect) outgoing.write(`${effect.send}\n`);
  else if ('sendRaw' in effect) outgoing.write(effect.sendRaw);
  else if (effect.end === 'close') outgoing.end(() => sent.destroy());
  else if (effect.end === 'reset') {
    sent.destroy();
    // What was sent before must arrive before the reset does.
    setTimeout(() => resetConnection(outgoing), 20);
    // Half-open: the upstream side only. The client sees a connection on which nothing comes.
  } else sent.destroy();
}

/** A watch gets a connection of its own, with the TLS settings of the agent it would have used. */
function tlsOf(options: RequestOptions): RequestOptions {
  const agent = options.agent as { readonly options?: RequestOptions } | undefined;
  const { ca, cert, key } = agent?.options ?? {};
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}
