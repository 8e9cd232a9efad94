import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@coxswain/kube/testing';
import { createLogger } from '@coxswain/telemetry';
import { openProcessPorts, type ProcessPorts } from './process-ports.ts';

const LISTEN = { listenHost: '127.0.0.1', listenPort: 0 };
const PROBES = { health: LISTEN, liveness: { port: undefined, maxStallMs: 60_000 } };
const directory = mkdtempSync(join(tmpdir(), 'ports-'));
const tokenFile = join(directory, 'token');
writeFileSync(tokenFile, 'a-token');
afterAll(() => rmSync(directory, { recursive: true }));

let unready: readonly string[] = [];
const source = {
  hungReasons: () => [],
  unreadyReasons: () => unready,
  expose: async () => ({ contentType: 'text/plain', text: 'up 1' }),
  clock: new FakeClock(),
  log: createLogger({ program: 'test', level: 'silent' }),
};

let ports: ProcessPorts;
afterEach(() => ports.stop());

async function ask(port: number | undefined, path: string): Promise<readonly [number, string]> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: 'Bearer a-token' } });
  return [answer.status, await answer.text()];
}

describe('the ports of the process', () => {
  it.each<[string, 'healthPort' | 'metricsPort', string, number]>([
    ['probes on one', 'healthPort', '/healthz', 200],
    ['readiness beside them', 'healthPort', '/readyz', 503],
    ['no metrics there, whoever asks', 'healthPort', '/metrics', 404],
    ['metrics on another', 'metricsPort', '/metrics', 200],
    ['no probes there', 'metricsPort', '/healthz', 404],
  ])('have %s', async (_what, port, path, status) => {
    unready = ['waiting for the first list'];
    ports = await openProcessPorts({ ...PROBES, metrics: { ...LISTEN, tokenFile } }, source);
    expect((await ask(ports[port], path))[0]).toBe(status);
  });

  it('are one where no token for metrics is configured', async () => {
    ports = await openProcessPorts({ ...PROBES, metrics: { ...LISTEN, tokenFile: undefined } }, source);
    expect([ports.metricsPort, (await ask(ports.healthPort, '/healthz'))[0]]).toEqual([undefined, 200]);
  });

  it('are both closed when one is taken', async () => {
    ports = await openProcessPorts({ ...PROBES, metrics: { ...LISTEN, tokenFile } }, source);
    const taken = { ...LISTEN, listenPort: ports.healthPort };
    await expect(openProcessPorts({ ...PROBES, metrics: { ...taken, tokenFile } }, source)).rejects.toThrow(
      'EADDRINUSE',
    );
  });
});
