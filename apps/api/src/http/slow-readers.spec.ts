import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fastify, type FastifyInstance } from 'fastify';
import { cutSlowReaders } from './slow-readers.ts';

/** More than the kernel takes for both sides of a connection. */
const LARGE_BYTES = 64 * 1_048_576;

let server: FastifyInstance;
let port: number;

beforeEach(async () => {
  server = fastify();
  cutSlowReaders(server, { unreadMs: 2_000 });
  server.get('/large', (_request, reply) => reply.send(Buffer.alloc(LARGE_BYTES)));
  await server.listen({ port: 0, host: '127.0.0.1' });
  port = Number(new URL(server.listeningOrigin).port);
});

afterEach(() => server.close());

describe('an answer', () => {
  it('that nobody reads is given up, with its connection', async () => {
    const connection = once(server.server, 'connection') as Promise<[Socket]>;
    const reader = connect(port, '127.0.0.1').pause();
    reader.on('error', () => undefined);
    reader.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    const [served] = await connection;
    await once(served, 'close');
    expect(served.destroyed).toBe(true);
    reader.destroy();
  });

  it('that somebody reads comes whole', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/large`);
    expect((await answer.arrayBuffer()).byteLength).toBe(LARGE_BYTES);
  });
});
