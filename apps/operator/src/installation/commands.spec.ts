import { API_GROUP_VERSION } from '@coxswain/api-types';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const MAIN = resolve(import.meta.dirname, '../main.ts');

/** An API server with one job that runs and nothing else; `onList` is called before the job is told of. */
async function aCluster(onList: () => void): Promise<Server> {
  const job = { metadata: { name: 'long', namespace: 'research' }, status: { state: 'Running' } };
  const server = createServer(({ url = '' }, answer) => {
    const isList = url.includes('/trainingjobs');
    if (isList) onList();
    const list = {
      apiVersion: API_GROUP_VERSION,
      kind: 'TrainingJobList',
      metadata: { resourceVersion: '1' },
      items: [job],
    };
    const body = isList ? list : { kind: 'Status', reason: 'NotFound', message: 'not found' };
    answer.writeHead(isList ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

describe('a command of a hook', () => {
  let directory: string;
  beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'coxswain-hook-'))));
  afterEach(() => rmSync(directory, { recursive: true }));

  /** Ends as the program did; it is told to end when `isEvicted`, while it looks. */
  async function refuse({ isEvicted }: { readonly isEvicted: boolean }) {
    let kill = (): void => undefined;
    const server = await aCluster(() => isEvicted && kill());
    const { port } = server.address() as AddressInfo;
    const kubeconfig = {
      clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: 't' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    const path = join(directory, 'kubeconfig');
    writeFileSync(path, JSON.stringify(kubeconfig));
    const env = { PATH: process.env['PATH'], COXSWAIN_KUBECONFIG: path };
    const program = spawn(process.execPath, [MAIN, 'refuse-running-jobs', 'coxswain-system'], { env });
    kill = () => void program.kill('SIGTERM');
    let printed = '';
    for (const stream of [program.stdout, program.stderr])
      stream.on('data', (text: Buffer) => (printed += String(text)));
    const [code, signal] = (await once(program, 'close')) as [number | null, string | null];
    server.close();
    return { code, signal, printed };
  }

  it('says why it refuses, and fails', async () => {
    const { code, printed } = await refuse({ isEvicted: false });
    expect(printed).toMatch(/^coxswain-operator: 1 job runs: research\/long\. Nothing was uninstalled/);
    expect(code).toBe(1);
  });

  it('has not succeeded where its pod is told to end meanwhile', async () => {
    const { code, signal } = await refuse({ isEvicted: true });
    expect([code, signal]).not.toEqual([0, null]);
    expect(signal ?? code).toBe('SIGTERM');
  });
});
