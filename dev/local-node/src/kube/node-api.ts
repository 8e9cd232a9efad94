import { readFileSync } from 'node:fs';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { z } from 'zod';

/** What a local node needs of an apiserver. Every method rejects while the node is lost. */
export interface NodeApi {
  /** Resolves with whatever the apiserver answered, 4xx and 5xx included. Rejects when there was no answer. */
  request(call: ApiCall): Promise<ApiAnswer>;
  /** The objects of a watch, until its connection ends in whatever way. */
  watch(path: string, signal: AbortSignal): AsyncIterable<WatchEvent>;
}

/** A request to the API server. */
export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** `application/json` by default. */
  readonly contentType?: string;
}

/** An answer of the API server, with its body parsed. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** One line of a watch. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

/** Content type of a patch that merges lists by key, as the kubelet sends it. */
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const REQUEST_DEADLINE_MS = 15_000;

/** Where the apiserver is, and who we are to it. */
export interface Credentials {
  readonly server: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

const Named = <T extends z.ZodType>(key: string, schema: T) =>
  z.array(z.object({ name: z.string(), [key]: schema }).loose());

const Kubeconfig = z.object({
  'current-context': z.string(),
  contexts: Named('context', z.object({ cluster: z.string(), user: z.string() })),
  clusters: Named(
    'cluster',
    z.object({
      server: z.url(),
      'certificate-authority': z.string().optional(),
      'certificate-authority-data': z.string().optional(),
    }),
  ),
  users: Named(
    'user',
    z.object({
      'client-certificate': z.string().optional(),
      'client-certificate-data': z.string().optional(),
      'client-key': z.string().optional(),
      'client-key-data': z.string().optional(),
      token: z.string().optional(),
    }),
  ),
});

/** Reads the current context of a kubeconfig file: certificates or a token, inline or in files beside it. */
export function readKubeconfig(path: string): Credentials {
  const config = Kubeconfig.parse(parse(readFileSync(path, 'utf8')));
  const pick = (list: readonly Record<string, unknown>[], name: string, key: string): Record<string, string> => {
    const found = list.find((entry) => entry['name'] === name);
    if (found === undefined) {
      throw new Error(`${path} names the ${key} ${name}, but does not hold it`);
    }
    return found[key] as Record<string, string>;
  };
  const context = pick(config.contexts, config['current-context'], 'context');
  const cluster = pick(config.clusters, context['cluster'] ?? '', 'cluster');
  const user = pick(config.users, context['user'] ?? '', 'user');
  const inline = (entry: Record<string, string>, key: string): string | undefined => {
    const data = entry[`${key}-data`];
    if (data !== undefined) {
      return Buffer.from(data, 'base64').toString('utf8');
    }
    const file = entry[key];
    return file === undefined ? undefined : readFileSync(resolve(dirname(path), file), 'utf8');
  };
  return defined({
    server: cluster['server'] ?? '',
    ca: inline(cluster, 'certificate-authority'),
    cert: inline(user, 'client-certificate'),
    key: inline(user, 'client-key'),
    token: user['token'],
  });
}

function defined(parts: { [K in keyof Credentials]: Credentials[K] | undefined }): Credentials {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as unknown as Credentials;
}

/** Thrown for every call of a node that is lost, as a network that is cut would. */
export class NodeIsLost extends Error {
  override readonly name = 'NodeIsLost';
}

/** Speaks to an apiserver over HTTPS with a pool of kept connections; can be cut off and joined again. */
export class HttpsNodeApi implements NodeApi {
  readonly #credentials: Credentials;
  readonly #agent: Agent;
  #isCut = false;

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
    const { ca, cert, key } = credentials;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: 16,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    });
  }

  /** From now on nothing reaches the apiserver. */
  cut(): void {
    this.#isCut = true;
  }

  join(): void {
    this.#isCut = false;
  }

  close(): void {
    this.#isCut = true;
    this.#agent.destroy();
  }

  async request(call: ApiCall): Promise<ApiAnswer> {
    const signal = AbortSignal.timeout(REQUEST_DEADLINE_MS);
    const response = await this.#send(call, signal);
    const chunks: Buffer[] = [];
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
    }
    this.#refuseWhileCut(); // An answer that arrives after the loss has not arrived.
    const text = Buffer.concat(chunks).toString('utf8');
    return { status: response.statusCode ?? 0, body: text.startsWith('{') ? JSON.parse(text) : text };
  }

  async *watch(path: string, signal: AbortSignal): AsyncIterable<WatchEvent> {
    const response = await this.#send({ method: 'GET', path }, signal);
    try {
      if (response.statusCode !== 200) {
        yield { type: 'ERROR', object: { code: response.statusCode } };
        return;
      }
      for await (const line of createInterface({ input: response, signal })) {
        if (line !== '') {
          yield JSON.parse(line) as WatchEvent;
        }
      }
    } finally {
      response.destroy();
    }
  }

  #refuseWhileCut(): void {
    if (this.#isCut) {
      throw new NodeIsLost('the node is lost');
    }
  }

  #send(call: ApiCall, signal: AbortSignal): Promise<IncomingMessage> {
    this.#refuseWhileCut();
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const options: RequestOptions = {
      method: call.method,
      agent: this.#agent,
      signal,
      headers: {
        accept: 'application/json',
        'user-agent': 'coxswain-local-nodes',
        ...(body === undefined
          ? {}
          : { 'content-type': call.contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...(this.#credentials.token === undefined ? {} : { authorization: `Bearer ${this.#credentials.token}` }),
      },
    };
    return new Promise((resolvePromise, reject) => {
      const request = httpsRequest(new URL(call.path, this.#credentials.server), options, resolvePromise);
      request.on('error', reject);
      request.end(body);
    });
  }
}

/** What the apiserver said against a call, as an error. */
export function refusal(call: ApiCall, answer: ApiAnswer): Error {
  const message =
    typeof answer.body === 'object' && answer.body !== null && 'message' in answer.body
      ? String(answer.body.message)
      : String(answer.body);
  return new Error(`${call.method} ${call.path} was answered with ${answer.status}: ${message}`);
}
