import { spawnSync } from 'node:child_process';
import { startLivenessServer } from './index.ts';
import { livenessProblems } from './liveness-verdict.ts';

const onDeath = (reason: Error): never => {
  throw reason;
};
const HERE = { listenHost: '127.0.0.1', listenPort: 0, onDeath };

describe('a process', () => {
  const well = { hungReasons: [] };

  it.each<[string, Parameters<typeof livenessProblems>[0], readonly string[]]>([
    ['is alive while its loop runs', { last: well, silentMs: 900, maxStallMs: 60_000 }, []],
    ['is alive while its loop is slow', { last: well, silentMs: 60_000, maxStallMs: 60_000 }, []],
    [
      'is not alive when its loop has stood still for too long',
      { last: well, silentMs: 61_000, maxStallMs: 60_000 },
      ['the event loop has not run for 61 s; at most 60 s are allowed'],
    ],
    [
      'is not alive when it says why not',
      { last: { hungReasons: ['no digest'] }, silentMs: 0, maxStallMs: 60_000 },
      ['no digest'],
    ],
  ])('%s', (_sentence, signs, want) => {
    expect(livenessProblems(signs)).toEqual(want);
  });
});

/** Asks from another process, and holds up the event loop of this one until that process has the wanted status. */
function askWithLoopHeldUp(port: number, wanted: number): string {
  const program = `
    for (;;) {
      const answer = await fetch('http://127.0.0.1:${port}/healthz');
      const text = await answer.text();
      if (answer.status === ${wanted}) { console.log(answer.status + ' ' + text.trim()); break; }
    }`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  return stdout.trim();
}

describe('the liveness port', () => {
  it('answers while the event loop is held up', async () => {
    const server = await startLivenessServer({ ...HERE, maxStallMs: 60_000 });
    expect(askWithLoopHeldUp(server.port, 200)).toBe('200 ok');
    await server.stop();
  });

  it('answers 503 when the event loop is held up for too long', async () => {
    const server = await startLivenessServer({ ...HERE, maxStallMs: 100 });
    expect(askWithLoopHeldUp(server.port, 503)).toMatch(/^503 the event loop has not run for \d+ s; at most 0 s/);
    await server.stop();
  });

  it('answers 503 with the reasons of the process, whose loop runs', async () => {
    const server = await startLivenessServer({
      ...HERE,
      maxStallMs: 60_000,
      hungReasons: () => ['no digest for 130 s'],
    });
    const answer = await fetch(`http://127.0.0.1:${server.port}/healthz`);
    expect([answer.status, await answer.text()]).toEqual([503, 'no digest for 130 s\n']);
    expect((await fetch(`http://127.0.0.1:${server.port}/metrics`)).status).toBe(404);
    await server.stop();
  });

  it('rejects the start when its port is taken', async () => {
    const server = await startLivenessServer({ ...HERE, maxStallMs: 60_000 });
    await expect(startLivenessServer({ ...HERE, listenPort: server.port, maxStallMs: 60_000 })).rejects.toThrow(
      /EADDRINUSE/,
    );
    await server.stop();
  });
});
