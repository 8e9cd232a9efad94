import type { Problem } from '@coxswain/api-types';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server says to one request. */
export type FakeAnswer =
  | { readonly json: unknown; readonly status?: number }
  | { readonly text: string; readonly status?: number }
  | { readonly problem: Pick<Problem, 'status' | 'code' | 'detail'> & Partial<Problem> }
  /** Server-sent events or log text, then `end`: a clean end, a cut connection, or nothing more until the reader leaves. */
  | { readonly stream: string; readonly end: 'clean' | 'cut' | 'never' };

export interface SeenRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: unknown;
}

export interface FakeApi {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** Connections whose answer is still going on. */
  openStreams(): number;
  close(): Promise<void>;
}

/**
 * An HTTP server on loopback that plays the API: answers by `METHOD /path` (with its query, or without to answer any). Of a list of
 * answers each is given once, the last one for ever. Anything else is a 404 that names what was asked.
 */
export async function startFakeApi(
  routes: Readonly<Record<string, FakeAnswer | readonly FakeAnswer[]>>,
): Promise<FakeApi> {
  const requests: SeenRequest[] = [];
  const given = new Map<string, number>();
  const open = new Set<ServerResponse>();
  const answerTo = (method: string, path: string): FakeAnswer => {
    const [withoutQuery = ''] = path.split('?');
    const key = [`${method} ${path}`, `${method} ${withoutQuery}`].find((route) => routes[route] !== undefined);
    if (key === undefined)
      return { problem: { status: 404, code: 'NOT_FOUND', detail: `the test has no answer to ${method} ${path}` } };
    const answers = [routes[key] ?? []].flat();
    const turn = given.get(key) ?? 0;
    given.set(key, turn + 1);
    return answers[Math.min(turn, answers.length - 1)] ?? { text: '' };
  };
  const server = createServer((request, response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
    void readBody(request).then((body) => {
      const { method = '', url = '', headers } = request;
      requests.push({ method, path: url, headers, body });
      give(answerTo(method, url), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    openStreams: () => open.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function give(answer: FakeAnswer, response: ServerResponse): void {
  if ('stream' in answer) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(answer.stream, () => {
      if (answer.end === 'clean') response.end();
      if (answer.end === 'cut') response.destroy();
    });
    return;
  }
  if ('problem' in answer) {
    const problem: Problem = { type: 'about:blank', title: answer.problem.code, ...answer.problem };
    response.writeHead(problem.status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
    return;
  }
  const status = answer.status ?? 200;
  if ('json' in answer)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.json));
  else response.writeHead(status, { 'content-type': 'text/plain' }).end(answer.text);
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  // Bytes are not told apart: no test reads them.
  if (request.headers['content-type']?.includes('json') === false) return text;
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}
