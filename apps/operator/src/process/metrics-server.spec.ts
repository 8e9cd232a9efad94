import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@coxswain/kube/testing';
import type { HttpListener } from './http-listener.ts';
import { type Exposition, startMetricsServer, tokenFromFile } from './metrics-server.ts';

const LISTEN = { listenHost: '127.0.0.1', listenPort: 0 };
const TOKEN = 'a-token-of-this-port';

let server: HttpListener;
let collected: PromiseWithResolvers<Exposition>[];
let token: string | undefined;
let clock: FakeClock;

beforeEach(async () => {
  clock = new FakeClock();
  collected = [];
  token = TOKEN;
  server = await startMetricsServer(
    {
      expose: () => {
        const next = Promise.withResolvers<Exposition>();
        collected.push(next);
        return next.promise;
      },
      token: async () => token,
      clock,
    },
    LISTEN,
  );
});
afterEach(() => server.stop());

async function ask(path = '/metrics', init: RequestInit = {}): Promise<readonly [number, string]> {
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
  return [answer.status, await answer.text()];
}
const withToken = (value: string): RequestInit => ({ headers: { authorization: value } });
const scrape = (): Promise<readonly [number, string]> => ask('/metrics', withToken(`Bearer ${TOKEN}`));

/** Answers what is being collected, as soon as something is. */
async function collect(text: string): Promise<void> {
  while (collected.length === 0) await new Promise((resolve) => setImmediate(resolve));
  for (const one of collected.splice(0)) one.resolve({ contentType: 'text/plain', text });
}

describe('the metrics port', () => {
  it.each([
    ['a client without a token', '/metrics', {}, 401],
    ['another token', '/metrics', withToken('Bearer another'), 401],
    ['the beginning of the token', '/metrics', withToken(`Bearer ${TOKEN.slice(0, -1)}`), 401],
    ['an empty token', '/metrics', withToken('Bearer '), 401],
    ['the token under another scheme', '/metrics', withToken(`Basic ${TOKEN}`), 401],
    ['another path', '/healthz', withToken(`Bearer ${TOKEN}`), 404],
    ['another method', '/metrics', { method: 'POST', ...withToken(`Bearer ${TOKEN}`) }, 405],
  ])('rejects %s and collects nothing for it', async (_, path, init, status) => {
    expect((await ask(path, init))[0]).toBe(status);
    expect(collected).toEqual([]);
  });

  it('answers nobody while there is no token', async () => {
    token = undefined;
    expect((await scrape())[0]).toBe(503);
    expect((await ask('/metrics', withToken('Bearer undefined')))[0]).toBe(503);
  });

  it('collects once for all that ask at the same time, and for a second', async () => {
    const first = [scrape(), scrape(), scrape()];
    await collect('up 1');
    expect(await Promise.all(first)).toEqual(Array.from({ length: 3 }, () => [200, 'up 1']));
    await clock.advance(999);
    expect(await scrape()).toEqual([200, 'up 1']);
    expect(collected).toEqual([]);
    await clock.advance(1);
    const later = scrape();
    await collect('up 2');
    expect(await later).toEqual([200, 'up 2']);
  });

  it('collects again after a failure, and says what failed', async () => {
    const failed = scrape();
    while (collected.length === 0) await new Promise((resolve) => setImmediate(resolve));
    collected.splice(0)[0]?.reject(new Error('a gauge threw'));
    expect(await failed).toEqual([500, 'metrics could not be collected: Error: a gauge threw\n']);
    const again = scrape();
    await collect('up 1');
    expect((await again)[0]).toBe(200);
  });

  it('holds few connections of one address', async () => {
    const sockets = Array.from({ length: 12 }, () => connect(server.port, '127.0.0.1'));
    let closed = 0;
    for (const socket of sockets) socket.on('close', () => (closed += 1)).on('error', () => undefined);
    while (closed < 4) await new Promise((resolve) => setImmediate(resolve));
    sockets[0]?.destroy();
    const open = sockets.filter(({ destroyed }) => !destroyed);
    expect(open.length).toBeGreaterThanOrEqual(7);
    for (const socket of open) socket.destroy();
  });
});

describe('the token in a file', () => {
  it('is read again after a while, without the newline at its end, and is none if the file is empty or gone', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'token-'));
    const path = join(directory, 'token');
    const read = tokenFromFile(path, clock);
    const later = async (): Promise<string | undefined> => {
      await clock.advance(10_000);
      return read();
    };
    expect(await read()).toBeUndefined();
    writeFileSync(path, 'one\n');
    expect(await read()).toBeUndefined();
    expect(await later()).toBe('one');
    writeFileSync(path, 'two');
    expect(await read()).toBe('one');
    expect(await later()).toBe('two');
    writeFileSync(path, '\n');
    expect(await later()).toBeUndefined();
    rmSync(directory, { recursive: true });
    expect(await later()).toBeUndefined();
  });
});
