import { Agent, request as httpsRequest } from 'node:https';

/** How to reach an apiserver as its administrator. */
export interface AdminAccess {
  readonly url: string;
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
}

/** What an apiserver answered. */
export interface AdminAnswer {
  readonly status: number;
  readonly body: string;
}

/** A request with a JSON body to an apiserver. */
export interface AdminRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** `application/json` by default; patches need another. */
  readonly contentType?: string;
}

/** The few requests that the local cluster itself makes; programs under test bring a client of their own. */
export class AdminClient {
  readonly #access: AdminAccess;
  readonly #agent: Agent;

  constructor(access: AdminAccess) {
    this.#access = access;
    this.#agent = new Agent({ ca: access.caPem, cert: access.certPem, key: access.keyPem, keepAlive: true });
  }

  /** Resolves with whatever status came back; rejects when nothing came back within 30 s. */
  send(message: AdminRequest): Promise<AdminAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<AdminAnswer>();
    const body = message.body === undefined ? undefined : JSON.stringify(message.body);
    const sent = httpsRequest(
      new URL(message.path, this.#access.url),
      {
        agent: this.#agent,
        method: message.method,
        // Node frames the body of a DELETE only if its length is set; unframed it would be read as the next request.
        headers:
          body === undefined
            ? {}
            : { 'content-type': message.contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) },
        timeout: 30_000,
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
        );
      },
    );
    sent.on('timeout', () => sent.destroy(new Error(`${message.method} ${message.path}: no answer within 30 s`)));
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }

  /** The body of a successful answer, parsed; rejects with the apiserver's own words otherwise. */
  async json<T>(message: AdminRequest): Promise<T> {
    const answer = await this.send(message);
    if (answer.status >= 300) {
      throw new Error(`${message.method} ${message.path} answered ${answer.status}: ${answer.body}`);
    }
    return JSON.parse(answer.body) as T;
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }
}
