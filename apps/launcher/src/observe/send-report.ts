/** Sends reports of an observer to the leading operator over HTTPS. Whatever fails is no news: the program goes on without it. */
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { OBSERVE_PATH, ObserverReply, type ObserverReport } from '@coxswain/api-types';
import { isHttpsBase } from '../program/settings.ts';

const WITHIN_MS = 10_000;
const MAX_ANSWER_BYTES = 65_536;
/** Replicas that one report is offered to. */
const MOST_TRIES = 4;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Where reports go. */
export interface ReportTarget {
  readonly urls: readonly string[];
  /** PEM of the authority that signed the endpoint's certificate; the system's own when absent. */
  readonly ca: string | undefined;
  readonly tokenFile: string;
}

/** Keeps one connection to the replica that answered last. */
export class ReportSender {
  readonly #target: ReportTarget;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #leader: string | undefined;

  constructor(target: ReportTarget) {
    this.#target = target;
  }

  /** The answer of the leader; undefined if no replica took the report. */
  async send(report: ObserverReport): Promise<ObserverReply | undefined> {
    const urls = [...(this.#leader === undefined ? [] : [this.#leader]), ...this.#target.urls];
    const body = JSON.stringify(report);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const url = urls.shift();
      if (url === undefined) break;
      const answer = await this.#post(url, body).catch(() => undefined);
      if (answer?.status === 200) {
        this.#leader = url;
        return ObserverReply.safeParse(answer.body).data ?? {};
      }
      const leader = leaderIn(answer?.body);
      if (leader !== undefined && leader !== url) urls.unshift(leader);
    }
    this.#leader = undefined;
    return undefined;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #post(url: string, body: string): Promise<Answer> {
    const { ca, tokenFile } = this.#target;
    // The kubelet renews it.
    const token = (await readFile(tokenFile, 'utf8')).trim();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const sent = request(new URL(OBSERVE_PATH, url), {
      method: 'POST',
      agent: this.#agent,
      signal: AbortSignal.timeout(WITHIN_MS),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(ca === undefined ? {} : { ca }),
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) response.destroy(new Error('the answer is too long'));
        else chunks.push(chunk);
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(chunks).toString('utf8')) }),
      );
    });
    sent.end(body);
    return promise;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function leaderIn(body: unknown): string | undefined {
  const url = typeof body === 'object' && body !== null && 'leaderUrl' in body ? body.leaderUrl : undefined;
  return typeof url === 'string' && isHttpsBase(url) ? url : undefined;
}
