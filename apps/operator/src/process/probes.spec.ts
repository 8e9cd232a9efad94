import { type AddressInfo, createServer } from 'node:net';
import { createLogger } from '@coxswain/telemetry';
import { startProbes } from './probes.ts';

const log = createLogger({ program: 'test', level: 'silent' });
const health = { listenHost: '127.0.0.1', listenPort: 0 };
const source = {
  hungReasons: () => ['no look at a job has ended for 601 s'],
  unreadyReasons: () => [],
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

async function answerOf(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
  return `${answer.status} ${(await answer.text()).trim()}`;
}

describe('the probes of the operator', () => {
  it('say on the liveness port too why the process must be restarted', async () => {
    const port = await freePort();
    const probes = await startProbes(source, { health, liveness: { port, maxStallMs: 60_000 }, log });
    const want = '503 no look at a job has ended for 601 s';
    expect([await answerOf(port), await answerOf(probes.port)]).toEqual([want, want]);
    await probes.stop();
    await expect(answerOf(port)).rejects.toThrow();
  });

  it('have no thread of their own where no port is named', async () => {
    const probes = await startProbes(source, { health, liveness: { port: undefined, maxStallMs: 60_000 }, log });
    expect(await answerOf(probes.port)).toMatch(/^503/);
    await probes.stop();
  });
});
