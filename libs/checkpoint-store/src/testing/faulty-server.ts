import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';

/** What a client asked for. */
export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  readonly range?: string;
}

type Fault = (answer: IncomingMessage, response: ServerResponse) => void;

/** A proxy before an S3 server that breaks, slows or replaces its answers. Faults in bodies are those of GET requests. */
export class FaultyServer {
  readonly endpoint: string;
  requests: AskedRequest[] = [];
  readonly #server: Server;
  #fault: Fault | undefined;
  #hiddenHeaders: readonly string[] = [];
  #replacement: ((response: ServerResponse) => void) | undefined;

  private constructor(server: Server, endpoint: string) {
    this.#server = server;
    this.endpoint = endpoint;
  }

  static async start(upstream: string): Promise<FaultyServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const proxy = new FaultyServer(server, `http://127.0.0.1:${String(port)}`);
    server.on('request', (incoming: IncomingMessage, response: ServerResponse) =>
      proxy.#forward(upstream, incoming, response),
    );
    return proxy;
  }

  /** Without faults and with no request on record. */
  heal(): void {
    this.#fault = undefined;
    this.#replacement = undefined;
    this.#hiddenHeaders = [];
    this.requests = [];
  }

  /** The connection breaks after so many bytes of each answer. */
  breakAfterBytes(bytes: number): void {
    this.#fault = afterBytes(bytes, (response) => response.destroy());
  }

  /** Each answer ends after so many bytes as if it were complete, and has no length. */
  endAfterBytes(bytes: number): void {
    this.#fault = afterBytes(bytes, (response) => response.end());
    this.#hiddenHeaders = ['content-length'];
  }

  /** Answers with whole files. */
  ignoreRanges(): void {
    this.#fault = (answer, response) => answer.pipe(response);
    this.#hiddenHeaders = ['content-range'];
  }

  /** Nothing follows so many bytes of each answer. */
  stallAfterBytes(bytes: number): void {
    this.#fault = afterBytes(bytes, () => undefined);
  }

  sendByteEveryMs(intervalMs: number): void {
    this.#fault = (answer, response) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const bytes = Buffer.concat(chunks);
        let sent = 0;
        const timer = setInterval(() => {
          response.write(bytes.subarray(sent, ++sent));
          if (sent < bytes.length) return;
          clearInterval(timer);
          response.end();
        }, intervalMs);
      });
    };
  }

  /** Changes the answers to lists. */
  rewriteLists(change: (xml: string) => string): void {
    this.#hiddenHeaders = ['content-length'];
    this.#fault = (answer, response) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const body = Buffer.concat(chunks);
        const isList = body.includes('<ListBucketResult');
        response.end(isList ? change(body.toString()) : body);
      });
    };
  }

  /** Answers every request with an error of S3. */
  answer(status: number, code: string): void {
    this.#replacement = (response) => {
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>a message</Message></Error>`);
    };
  }

  beSilent(): void {
    this.#replacement = () => undefined;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(upstream: string, incoming: IncomingMessage, response: ServerResponse): void {
    const { method = '', url: path = '', headers } = incoming;
    this.requests.push({ method, path, ...(headers.range !== undefined && { range: headers.range }) });
    if (this.#replacement !== undefined) return this.#replacement(response);
    const fault = method === 'GET' ? this.#fault : undefined;
    const onward = request(new URL(upstream), { method, path, headers }, (answer) => {
      if (fault === undefined) {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
        return;
      }
      const hidden = new Set(this.#hiddenHeaders);
      const shown = Object.entries(answer.headers).filter(([name]) => !hidden.has(name));
      response.writeHead(answer.statusCode ?? 500, Object.fromEntries(shown));
      fault(answer, response);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  }
}

function afterBytes(bytes: number, then: (response: ServerResponse) => void): Fault {
  return (answer, response) => {
    let left = bytes;
    response.flushHeaders();
    answer.on('data', (chunk: Buffer) => {
      if (left <= 0) return;
      const part = chunk.subarray(0, left);
      left -= part.length;
      response.write(part, () => {
        if (left <= 0) then(response);
      });
    });
    answer.on('end', () => {
      if (left > 0) response.end();
    });
  };
}
