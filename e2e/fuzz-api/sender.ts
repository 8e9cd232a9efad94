/** Sends requests of our own fuzzer, and learns from the answers what there is to be asked about. */
import { type IncomingHttpHeaders, request as sendRequest } from 'node:http';
import type { StatedAnswers } from '@coxswain/test-harness';
import type { GraphqlAsk } from './documents.ts';
import type { Findings } from './findings.ts';
import type { Ask } from './requests.ts';
import { idsIn, SUSPENDED, type Tenants, type Who } from './tenants.ts';

/** A planner may take half a minute for one question; nothing is lost when who asked goes before. */
const PATIENCE_MS = 3_000;
/** Nothing else may take so long. */
const HANGING_MS = 30_000;
/** With headers it can be more than the 16 KiB that Node reads. */
const LONG_URL_CHARACTERS = 8_000;
const PLANS = /plans|Plan/;

interface Got {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

/** Asks the API, and tells the findings of each answer. */
export class Sender {
  readonly #url: URL;
  readonly #tenants: Tenants;
  readonly #findings: Findings;
  readonly #stated: StatedAnswers;

  constructor(place: { readonly url: string; readonly tenants: Tenants }, findings: Findings, stated: StatedAnswers) {
    this.#url = new URL(place.url);
    this.#tenants = place.tenants;
    this.#findings = findings;
    this.#stated = stated;
  }

  async ask(ask: Ask): Promise<void> {
    const { operation, method, url, headers, body, who } = ask;
    const asked = `${method} ${url} as ${who.role} with ${JSON.stringify(headers)} ${(body ?? '').slice(0, 600)}`;
    const got = await this.#send({ method, url, headers, body, who, asked });
    if (got === undefined) return;
    const { status, text } = got;
    this.#findings.see({ operation, status, text, asked, asker: 'ours', maySeeCanary: who.role === 'clusterAdmin' });
    this.#holdAgainstDocument({ method, url, body }, got, asked);
    const isOfNoProject = operation.includes(' /v1/fabric');
    if (got.status < 300 && (who.role !== 'clusterAdmin' || isOfNoProject)) this.#learn(operation, got.text);
    if (got.status === 201 && operation === 'POST /v1/sign-in/tokens') this.#welcome(got.text);
  }

  async askGraphql({ operation, body, who }: GraphqlAsk): Promise<void> {
    const asked = `${operation} as ${who.role}: ${body.slice(0, 900)}`;
    const headers = { 'content-type': 'application/json' };
    const got = await this.#send({ method: 'POST', url: '/graphql', headers, body, who, asked });
    if (got === undefined) return;
    const maySeeCanary = who.role === 'clusterAdmin';
    const { status, text } = got;
    this.#findings.see({ operation: 'POST /graphql', status, text, asked, asker: 'ours', maySeeCanary });
    this.#holdAgainstDocument({ method: 'POST', url: '/graphql', body }, got, asked);
    const { data, errors } = parsed(got.text) as {
      readonly data?: Readonly<Record<string, unknown>> | null;
      readonly errors?: readonly { readonly extensions?: { readonly code?: string } }[];
    };
    const code = errors?.[0]?.extensions?.code ?? (data === undefined || data === null ? String(got.status) : 'data');
    this.#findings.count(operation, code);
  }

  /** Whether the OpenAPI document states status, headers and body of the answer. */
  #holdAgainstDocument(request: Pick<Ask, 'method' | 'url' | 'body'>, got: Got, asked: string): void {
    // The HTTP parser rejects it before an operation is chosen.
    if (got.status === 431 && request.url.length > LONG_URL_CHARACTERS) return;
    const isJson = String(got.headers['content-type'] ?? '').includes('json');
    const sent = request.body === undefined ? undefined : jsonOf(request.body);
    try {
      const { status, headers } = got;
      // The path alone says which operation it is.
      const [url = ''] = request.url.split('?');
      this.#stated.check(
        { ...request, url, body: sent },
        { status, headers, body: isJson ? jsonOf(got.text) : got.text },
      );
    } catch (error) {
      this.#findings.violate(`${(error as Error).message} (${asked})`);
    }
  }

  #welcome(text: string): void {
    const { token } = parsed(text) as { readonly token?: string };
    this.#tenants.sessions.push({ role: 'person', token });
  }

  /** Things of one’s own project alone: what was found of others must come from them, not from here. */
  #learn(operation: string, text: string): void {
    const [method = '', template = ''] = operation.split(' ');
    if (template.endsWith('/suspend')) this.#tenants.own.learn(SUSPENDED, idsIn(parsed(text)));
    if (method === 'GET' && template.endsWith('}')) return;
    const ids = idsIn(parsed(text));
    if (!/\/\{\w+\}\/\w+$/.test(template.replace('/{project}', '')) && ids.length > 0)
      this.#tenants.own.learn(template, ids);
  }

  /** A connection that was kept may be closed from the other side just as it is used again: then nothing was read of the request. */
  async #send(request: Outgoing): Promise<Got | undefined> {
    const first = await this.#sendOnce(request);
    return first === 'closed' ? this.#send(request) : first;
  }

  #sendOnce({ method, url, headers, body, who, asked }: Outgoing): Promise<Got | 'closed' | undefined> {
    const isPlan = PLANS.test(asked);
    const address = { host: this.#url.hostname, port: this.#url.port, method, path: url };
    // Without its length, Node sends the body of a DELETE as if it were the next request.
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const bearer = who.token === undefined ? {} : { authorization: `Bearer ${who.token}` };
    const signal = AbortSignal.timeout(isPlan ? PATIENCE_MS : HANGING_MS);
    return new Promise((resolve) => {
      const outgoing = sendRequest({ ...address, headers: { ...headers, ...length, ...bearer }, signal }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
        );
        answer.on('error', fail);
      });
      const fail = (error: NodeJS.ErrnoException): void => {
        if (outgoing.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) return resolve('closed');
        if (!isPlan) this.#findings.violate(`no answer to ${asked}: ${error.message}`);
        return resolve(undefined);
      };
      outgoing.on('error', fail);
      outgoing.end(body);
    });
  }
}

interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly who: Who;
  readonly asked: string;
}

function parsed(text: string): object {
  return (jsonOf(text) ?? {}) as object;
}

/** Undefined for a text that is not JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
