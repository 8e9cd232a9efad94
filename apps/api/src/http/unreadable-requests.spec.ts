import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { Problem } from '@coxswain/api-types';
import { fastify, type FastifyInstance } from 'fastify';
import { answerUnreadable } from './unreadable-requests.ts';

let server: FastifyInstance;

beforeAll(async () => {
  server = fastify({ clientErrorHandler: answerUnreadable });
  server.get('/', () => 'served');
  await server.listen({ port: 0, host: '127.0.0.1' });
});

afterAll(() => server.close());

/** Sends bytes on a connection, and returns all that comes back until the server ends it. */
async function answerTo(bytes: string): Promise<string> {
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  const chunks: string[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  socket.on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close');
  return chunks.join('');
}

describe('what is no request', () => {
  const lengths = 'Content-Length: 1\r\nContent-Length: 2';
  it.each<[string, string, { readonly status: number; readonly code: string; readonly detail: RegExp }]>([
    ['not HTTP', '{"a":1}\r\n\r\n', { status: 400, code: 'INVALID_REQUEST', detail: /not valid HTTP/ }],
    [
      'two lengths',
      `GET / HTTP/1.1\r\nHost: a\r\n${lengths}\r\n\r\n`,
      { status: 400, code: 'INVALID_REQUEST', detail: /Content-Length/ },
    ],
    [
      'an address of 20,000 characters',
      `GET /?a=${'b'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      { status: 431, code: 'TOO_LARGE', detail: /16 KiB/ },
    ],
  ])(
    '%s is answered with a problem document, and the connection ends',
    async (_what, bytes, { status, code, detail }) => {
      const answer = await answerTo(bytes);
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(head).toMatch(/content-type: application\/problem\+json/i);
      expect(head).toMatch(/cache-control: no-store/i);
      expect(Problem.parse(JSON.parse(body))).toMatchObject({
        status,
        code,
        detail: expect.stringMatching(detail) as string,
      });
    },
  );

  it('does not touch the next connection', async () => {
    expect(await answerTo('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200 [^]*served$/,
    );
  });
});
