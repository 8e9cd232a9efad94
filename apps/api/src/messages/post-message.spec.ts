import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority } from '@coxswain/local-cluster';
import { postMessage, type PostOptions } from './post-message.ts';
import type { Answer } from './retry-rules.ts';

const here: PostOptions = {
  rules: { allowsHttp: true, allowedRanges: ['127.0.0.1/32'] },
  signal: new AbortController().signal,
  attemptMs: 2_000,
};
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A receiver on this machine, which counts who came. */
async function aReceiver(
  answer: RequestListener,
  { server = createServer(), host = '127.0.0.1', port = 0 } = {},
): Promise<{ port: number; came: string[] }> {
  const came: string[] = [];
  server.on('request', (request, response) => {
    came.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return { port: (server.address() as AddressInfo).port, came };
}

const post = (url: string, changes: Partial<PostOptions> = {}): Promise<Answer> =>
  postMessage({ url, headers: { 'webhook-id': 'msg_1' }, body: '{"a":1}' }, { ...here, ...changes });

describe('an endpoint that asks to be left alone', () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ['for seconds', { 'retry-after': '120' }, 120_000],
    [
      'until a date, by its own clock',
      { date: 'Fri, 01 Jan 2027 00:00:00 GMT', 'retry-after': 'Fri, 01 Jan 2027 00:10:00 GMT' },
      600_000,
    ],
    [
      'until a date that is over',
      { date: 'Fri, 01 Jan 2027 00:00:00 GMT', 'retry-after': 'Thu, 31 Dec 2026 00:00:00 GMT' },
      undefined,
    ],
    ['in words', { 'retry-after': 'later' }, undefined],
    ['for less than nothing', { 'retry-after': '-5' }, undefined],
  ])('is heard: %s', async (_sentence, headers, retryAfterMs) => {
    const { port } = await aReceiver((_request, response) => response.writeHead(503, headers).end());
    const want = retryAfterMs === undefined ? { status: 503 } : { status: 503, retryAfterMs };
    expect(await post(`http://127.0.0.1:${port}/`)).toEqual(want);
  });
});

describe('an address that messages must not reach', () => {
  it.each<[string, readonly string[]]>([
    ['this machine', ['127.0.0.2']],
    ['a private network', ['10.0.0.1', '192.168.0.1']],
    ['a metadata service', ['169.254.169.254']],
    ['this machine by IPv6', ['::1']],
    ['IPv4 in IPv6', ['::ffff:10.0.0.1']],
  ])('is refused behind a name: %s', async (_what, addresses) => {
    expect(await post('http://inside.example.com/', { resolve: () => Promise.resolve(addresses) })).toEqual({
      trouble: 'its address is private, of this machine or reserved',
    });
  });

  it('is refused as it stands in the URL, also when rules have changed since', async () => {
    const { port, came } = await aReceiver((_request, response) => response.end());
    const rules = { allowsHttp: true, allowedRanges: [] };
    expect(await post(`http://127.0.0.1:${port}/`, { rules })).toEqual({ trouble: 'its URL is not allowed any more' });
    expect(came).toEqual([]);
  });

  it('is never connected to beside one that may be: the name is asked once, and what was judged is what is called', async () => {
    const { port, came } = await aReceiver((_request, response) => response.writeHead(204).end());
    const inside = await aReceiver((_request, response) => response.end(), { host: '127.0.0.2', port });
    const answers = [['127.0.0.2', '10.0.0.1', '127.0.0.1'], ['127.0.0.2']];
    let asked = 0;
    const resolve = (): Promise<readonly string[]> => Promise.resolve(answers[asked++] ?? []);
    expect(await post(`http://rebinding.example.com:${port}/hook`, { resolve })).toEqual({ status: 204 });
    expect([asked, came, inside.came]).toEqual([1, ['POST /hook'], []]);
  });

  it('is not reached by a redirect', async () => {
    const inside = await aReceiver((_request, response) => response.end());
    const location = `http://127.0.0.1:${inside.port}/`;
    const { port } = await aReceiver((_request, response) => response.writeHead(307, { location }).end());
    expect(await post(`http://127.0.0.1:${port}/`)).toEqual({ status: 307 });
    expect(inside.came).toEqual([]);
  });
});

describe('a message', () => {
  it('arrives as it was made', async () => {
    const seen: unknown[] = [];
    const { port } = await aReceiver((request, response) => {
      request.setEncoding('utf8').on('data', (body: string) => {
        seen.push([request.headers['content-type'], request.headers['webhook-id'], body]);
        response.writeHead(202).end('thank you');
      });
    });
    expect(await post(`http://127.0.0.1:${port}/`)).toEqual({ status: 202 });
    expect(seen).toEqual([['application/json', 'msg_1', '{"a":1}']]);
  });

  it.each<[string, RequestListener, Answer]>([
    ['that nobody answers is given up', () => undefined, { trouble: 'no answer within 2 s' }],
    [
      'whose answer never ends is answered all the same, and the answer is cut off',
      (_request, response) => {
        response.writeHead(200);
        const more = (): void => void response.write('x'.repeat(8_192), (error) => !error && more());
        more();
      },
      { status: 200 },
    ],
    [
      'whose receiver hangs up is not answered',
      (request) => void request.socket.destroy(),
      { trouble: 'the connection was closed without an answer' },
    ],
  ])('%s', async (_sentence, answer, want) => {
    const { port } = await aReceiver(answer);
    expect(await post(`http://127.0.0.1:${port}/`)).toEqual(want);
  });

  it('to a certificate that nobody vouches for is not sent', async () => {
    const authority = await createAuthority('somebody');
    const { certPem, keyPem } = await authority.issue({ commonName: 'receiver', hosts: ['127.0.0.1'] });
    const tls = createTlsServer({ cert: certPem, key: keyPem });
    const { port, came } = await aReceiver((_request, response) => response.end(), { server: tls });
    expect(await post(`https://127.0.0.1:${port}/`)).toEqual({
      trouble: expect.stringMatching(/^TLS failed \([A-Z_]+\)$/),
    });
    expect(came).toEqual([]);
  });

  it('to a name that is none, or that nobody resolves in time, is not sent', async () => {
    expect(await post('http://none.example.com/', { resolve: () => Promise.resolve([]) })).toEqual({
      trouble: 'its name has no address',
    });
    const never = (): Promise<never> => new Promise(() => undefined);
    expect(await post('http://slow.example.com/', { resolve: never, attemptMs: 100 })).toEqual({
      trouble: 'no answer within 0.1 s',
    });
  });

  it('where nobody listens is not sent', async () => {
    const { port } = await aReceiver(() => undefined);
    await new Promise((resolve) => servers.splice(0)[0]?.close(resolve));
    expect(await post(`http://127.0.0.1:${port}/`)).toEqual({ trouble: 'nobody listens there' });
  });
});
