import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { waitFor } from '@coxswain/local-cluster';
import type { EngineFact } from './engine-facts.ts';
import { makeOwnDirectory, removeOwnDirectory } from '../processes/own-directory.ts';
import { FactServer } from './fact-server.ts';

/** Two ranks of a pod, each with a worker, and what else runs there. */
const PROCESSES: Readonly<Record<number, { readonly parent: number; readonly environment: readonly string[] }>> = {
  10: { parent: 1, environment: ['COXSWAIN_BOOT_ID=a-boot', 'RANK=4'] },
  11: { parent: 10, environment: ['COXSWAIN_BOOT_ID=a-boot', 'RANK=4'] },
  20: { parent: 1, environment: ['COXSWAIN_BOOT_ID=a-boot', 'RANK=5'] },
  30: { parent: 1, environment: ['COXSWAIN_BOOT_ID=a-boot', 'RANK=4'] },
  40: { parent: 10, environment: ['COXSWAIN_BOOT_ID=another', 'RANK=4'] },
  50: { parent: 10, environment: ['COXSWAIN_BOOT_ID=a-boot', 'RANK=44'] },
};
const processes = {
  environmentOf: (pid: number) => PROCESSES[pid]?.environment ?? [],
  isBelow(pid: number, ancestors: readonly number[]): boolean {
    return ancestors.includes(pid) || ancestors.includes(PROCESSES[pid]?.parent ?? 0);
  },
};

const directories: string[] = [];
const servers: FactServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.drain(0)));
  for (const directory of directories.splice(0)) removeOwnDirectory(directory);
});

async function aServer(more: { readonly helloMs?: number } = {}): Promise<{ server: FactServer; facts: string[] }> {
  const directory = makeOwnDirectory();
  directories.push(directory);
  const facts: string[] = [];
  const server = await FactServer.listen({
    path: join(directory, 'facts'),
    bootId: 'a-boot',
    ranks: [4, 5],
    started: () => [10, 20],
    onFact: (rank: number, fact: EngineFact) => facts.push(`${rank} ${fact.kind}`),
    processes,
    ...more,
  });
  servers.push(server);
  return { server, facts };
}

function hello(more: object = {}): string {
  return `${JSON.stringify({ kind: 'hello', version: 1, pid: 10, bootId: 'a-boot', rank: 4, hook: 'engine', ...more })}\n`;
}

/** Connects, writes, and gives the socket with the answer. */
async function sendText(
  server: FactServer,
  text: string,
): Promise<{ readonly socket: Socket; readonly answer: string }> {
  const socket = connect(server.path);
  socket.on('error', () => undefined);
  socket.write(text);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return { socket, answer: answer.toString() };
}

const RESUMED = '{"kind":"resumed","step":1}\n';

describe('whoever says hello', () => {
  it.each<[string, object, RegExp]>([
    ['is welcome as the rank that the launcher started', {}, /welcome/],
    ['is welcome as a worker that the rank started', { pid: 11 }, /welcome/],
    ['is not where it names another start', { bootId: 'another' }, /another start of the launcher/],
    ['is not where it names a rank of another pod', { rank: 3 }, /rank 3 is not one of this pod/],
    ['is not where its process is another rank', { pid: 20 }, /process 20 was not started as rank 4/],
    ['is not where its process has a longer number', { pid: 50 }, /process 50 was not started as rank 4/],
    ['is not where its process has another mark', { pid: 40 }, /process 40 was not started by this launcher/],
    ['is not where there is no such process', { pid: 99 }, /process 99 was not started by this launcher/],
    ['is not where its process left the tree', { pid: 30 }, /process 30 does not descend from a rank/],
    ['is not in words of another version', { version: 2 }, /no hello of version 1/],
    ['is not as a hook that nobody knows', { hook: 'other' }, /no hello of version 1/],
  ])('%s', async (_sentence, more, want) => {
    const { server, facts } = await aServer();
    const { socket, answer } = await sendText(server, `${hello(more)}${RESUMED}`);
    expect(answer).toMatch(want);
    socket.end();
    await server.drain(60_000);
    expect(facts).toEqual(answer.includes('welcome') ? ['4 resumed'] : []);
    expect(server.refused).toBe(answer.includes('welcome') ? 0 : 1);
  });

  it('is one of its kind for a rank, until it has gone', async () => {
    const { server, facts } = await aServer();
    const first = await sendText(server, hello());
    expect((await sendText(server, hello({ pid: 11 }))).answer).toMatch(/rank 4 has a hook \\"engine\\" already/);
    expect((await sendText(server, hello({ hook: 'sitecustomize' }))).answer).toMatch(/welcome/);
    expect((await sendText(server, hello({ pid: 20, rank: 5 }))).answer).toMatch(/welcome/);
    first.socket.end();
    await once(first.socket, 'close');
    const next = await sendText(server, `${hello({ pid: 11 })}${RESUMED}`);
    expect(next.answer).toMatch(/welcome/);
    await waitFor(() => facts.length === 1, { intervalMs: 5, what: 'the fact' });
  });
});

describe('a step that is seen from beside', () => {
  const step = '{"kind":"step","step":3,"stepTimeMs":1}\n{"kind":"heartbeat"}\n';

  it.each([
    ['is a fact where the engine says nothing', false, ['4 step', '4 heartbeat']],
    ['is none where the engine tells its steps itself, and the hook beside it lives', true, ['4 heartbeat']],
  ])('%s', async (_, isSelfTold, expected) => {
    const { server, facts } = await aServer();
    const engine = isSelfTold ? await sendText(server, hello()) : undefined;
    const beside = await sendText(server, hello({ hook: 'sitecustomize', pid: 11 }));
    beside.socket.end(step);
    engine?.socket.end();
    await server.drain(60_000);
    expect(facts).toEqual(expected);
    expect([...server.reporting]).toEqual([4]);
  });
});

describe('the socket of facts', () => {
  it('is in a directory of this user alone, and gone with it', async () => {
    const { server } = await aServer();
    const directory = directories[0] ?? '';
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(server.path.length).toBeLessThan(60);
    removeOwnDirectory(directory);
    expect(existsSync(server.path)).toBe(false);
  });

  it('closes who says nothing', async () => {
    const { server } = await aServer({ helloMs: 20 });
    const socket = connect(server.path).resume();
    await once(socket, 'close');
    await waitFor(() => server.refused === 1, { intervalMs: 5, what: 'the count' });
  });

  it('takes so many connections and no more', async () => {
    const { server } = await aServer();
    const sockets = Array.from({ length: 100 }, () => connect(server.path).on('error', () => undefined));
    // Two ranks, two hooks each, and 32 to spare.
    await waitFor(() => server.refused === 64, { intervalMs: 5, what: 'the refusals' });
    for (const socket of sockets) socket.destroy();
  });

  it('counts what is no fact, and goes on', async () => {
    const { server, facts } = await aServer();
    const long = `{"kind":"resumed","step":1,"more":"${'x'.repeat(70_000)}"}\n`;
    const { socket } = await sendText(server, `${hello()}nonsense\n{"kind":"no"}\n${long}${RESUMED}`);
    socket.end();
    await server.drain(60_000);
    expect([server.garbage, facts]).toEqual([3, ['4 resumed']]);
  });

  it('reads no faster than a hook may tell, loses nothing by it, and reads the rest at once when its writer is gone', async () => {
    const { server, facts } = await aServer();
    const { socket } = await sendText(server, hello());
    const lines = 60_000;
    const begun = performance.now();
    socket.end(RESUMED.repeat(lines));
    await waitFor(() => facts.length > 5_000, { intervalMs: 5, what: 'the burst' });
    await waitFor(() => performance.now() - begun > 300, { intervalMs: 20, what: 'a while' });
    // A line costs 128 bytes: a burst of 8,192 lines and 2,048 a second, however long this took, and what lies in one read more.
    const [read, tookS] = [facts.length, (performance.now() - begun) / 1_000];
    expect(read).toBeLessThan(8_192 + 2_048 * tookS + 10_000);
    // A busy machine may take long to read the rest.
    await server.drain(60_000);
    expect(facts.length).toBe(lines);
  });

  it('cuts off who does not go', async () => {
    const { server } = await aServer();
    const { socket } = await sendText(server, hello());
    const closed = once(socket.resume(), 'close');
    await server.drain(20);
    await closed;
  });
});

describe('a rank that is asked for its stacks', () => {
  /** Hooks of rank 4 speak, and each gives the questions that it reads. */
  async function hooks(...kinds: readonly string[]): Promise<{ server: FactServer; read: readonly Promise<string>[] }> {
    const { server } = await aServer();
    const sockets: Socket[] = [];
    for (const hook of kinds) sockets.push((await sendText(server, hello({ hook }))).socket);
    const read = sockets.map(async (socket) => String(((await once(socket, 'data')) as [Buffer])[0]));
    return { server, read };
  }
  const QUESTION = '{"kind":"stacksWanted","request":7}\n';

  it.each<[string, readonly string[], number]>([
    ['is asked by the hook beside the engine', ['engine', 'sitecustomize'], 1],
    ['is asked by the engine itself where there is no other', ['engine'], 0],
  ])('%s', async (_sentence, kinds, asked) => {
    const { server, read } = await hooks(...kinds);
    expect(server.askForStacks(4, 7)).toEqual({ pid: 10, saysItAnswers: false });
    expect(await read[asked]).toBe(QUESTION);
  });

  it('is known to answer where its hook has said so', async () => {
    const { server } = await aServer();
    await sendText(server, hello({ hook: 'engine', reads: ['stacks', 'what a later one knows'] }));
    expect(server.askForStacks(4, 7)).toEqual({ pid: 10, saysItAnswers: true });
  });

  it('is not asked where no hook speaks for it', async () => {
    const { server } = await hooks('engine');
    expect(server.askForStacks(5, 7)).toBeUndefined();
  });
});

describe('a rank that is asked to save', () => {
  it.each<[string, readonly (readonly [string, readonly string[] | undefined])[], string, string | undefined]>([
    ['reads it where its engine has said that it does', [['engine', ['stacks', 'saves']]], 'asked', 'engine'],
    [
      'reads it from its engine, not the hook beside it',
      [
        ['sitecustomize', ['saves']],
        ['engine', ['saves']],
      ],
      'asked',
      'engine',
    ],
    ['is not asked where its engine has said nothing of it', [['engine', undefined]], 'cannot', undefined],
    ['is not asked where the hook beside it is all that speaks', [['sitecustomize', ['stacks']]], 'silent', undefined],
  ])('%s', async (_sentence, hooks, want, reader) => {
    const { server } = await aServer();
    const read = new Map<string, Promise<string>>();
    for (const [hook, reads] of hooks) {
      const { socket } = await sendText(server, hello({ hook, ...(reads === undefined ? {} : { reads }) }));
      read.set(
        hook,
        once(socket, 'data').then(([chunk]) => String(chunk)),
      );
    }
    expect(server.askToSave(4, 3)).toBe(want);
    if (reader !== undefined) expect(await read.get(reader)).toBe('{"kind":"saveWanted","request":3}\n');
  });
});
