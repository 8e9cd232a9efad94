import { once } from 'node:events';
import { connect } from 'node:net';
import { fastify } from 'fastify';
import { boundUnsentAnswers, UnsentAnswers } from './unsent-answers.ts';

/** `a40`: an answer of 40 bytes for a; `ax40`: for its member x. `-0`: the first answer was sent. Gives the answers that were cut, and the bytes that are left. */
function cutOf(steps: string): string {
  const unsent = new UnsentAnswers({ ofOwner: 100, inAll: 250 });
  const cut: string[] = [];
  const sent: (() => void)[] = [];
  for (const step of steps.split(' ')) {
    if (step.startsWith('-')) sent[Number(step.slice(1))]?.();
    else {
      const [, owner = '', member = '', bytes] = /^(.)(\D?)(\d+)$/.exec(step) ?? [];
      sent.push(unsent.add({ owner, member, bytes: Number(bytes), cut: () => cut.push(step) }));
    }
  }
  return `${cut.join(' ')} | ${unsent.bytes}`;
}

describe('answers that wait for their readers', () => {
  it.each([
    ['are kept within the bounds', 'a50 a50 b100', ' | 200'],
    ['of one owner are so many bytes: the oldest goes', 'a60 b30 a50', 'a60 | 80'],
    ['of one owner go until there is room', 'a40 a41 a42 a90', 'a40 a41 a42 | 90'],
    ['of all are so many bytes: the owner with most loses its oldest', 'a80 b60 b35 c70 d20', 'b60 | 205'],
    ['of one owner go first where its member has most: others of it keep theirs', 'ax30 ay20 ay50 ay10', 'ay20 | 90'],
    ['that were sent leave their room', 'a60 -0 a60', ' | 60'],
    ['leave their room once', 'a60 -0 -0 b10', ' | 10'],
    ['may be larger than the bound, one at a time', 'a120 a130', 'a120 | 130'],
  ])('%s', (_sentence, steps, want) => {
    expect(cutOf(steps)).toBe(want);
  });
});

describe('a client that does not read', () => {
  it('loses its oldest answer when it asks for more, and another one gets its own whole', async () => {
    const large = 32 * 1_048_576;
    const unsent = new UnsentAnswers({ ofOwner: 1.5 * large, inAll: 3 * large });
    const server = fastify();
    boundUnsentAnswers(server, {
      unsent,
      ownerOf: ({ headers }) => ({ owner: String(headers['x-owner']), member: '' }),
    });
    server.get('/large', (_request, reply) => reply.send(Buffer.alloc(large)));
    await server.listen({ port: 0, host: '127.0.0.1' });
    const { port, href } = new URL(server.listeningOrigin);
    const ask = () => {
      const reader = connect(Number(port), '127.0.0.1').pause();
      reader.on('error', () => undefined);
      reader.write('GET /large HTTP/1.1\r\nHost: x\r\nX-Owner: greedy\r\n\r\n');
      return { reader, served: once(server.server, 'connection') };
    };
    const first = ask();
    const [connection] = await first.served;
    while (unsent.bytes < large) await new Promise(setImmediate);
    const closed = once(connection, 'close');
    const second = ask();
    await closed;
    expect(unsent.bytes).toBe(large);
    const answer = await fetch(`${href}large`, { headers: { 'x-owner': 'modest' } });
    expect((await answer.arrayBuffer()).byteLength).toBe(large);
    for (const { reader } of [first, second]) reader.destroy();
    while (unsent.bytes > 0) await new Promise(setImmediate);
    await server.close();
  });
});
