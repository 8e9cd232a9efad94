import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinary } from '../programs/binaries.ts';
import { startControlPlane, type ControlPlane } from './control-plane.ts';
import { waitFor } from '../process/wait.ts';

describe('local control planes', () => {
  let plane: ControlPlane;
  let bare: ControlPlane;

  beforeAll(async () => {
    [plane, bare] = await Promise.all([
      startControlPlane({ audit: true }),
      startControlPlane({ scheduler: false, controllerManager: false }),
    ]);
  });

  afterAll(() => Promise.all([plane.stop(), bare.stop()]));

  it('say which version they are', async () => {
    expect(JSON.parse(await plane.kubectl(['version', '-o', 'json']))).toMatchObject({
      serverVersion: { gitVersion: 'v1.37.0' },
    });
  });

  it('are strangers to each other', async () => {
    await plane.kubectl(['create', 'namespace', 'here']);

    expect(bare.url).not.toBe(plane.url);
    await expect(bare.kubectl(['get', 'namespace', 'here'])).rejects.toThrow('not found');
  });

  it('take server-side apply and remember who owns a field', async () => {
    const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { a: '1' } };
    const args = ['apply', '--server-side', '--field-manager=test', '-f', '-'];
    await plane.kubectl(args, { input: JSON.stringify(manifest) });

    const read = await plane.kubectl(['get', 'configmap', 'applied', '-o', 'yaml', '--show-managed-fields']);
    expect(read).toMatch(/manager: test\n\s+operation: Apply/);
  });

  it('give a service account no more than RBAC does', async () => {
    const kubeconfig = await plane.kubeconfigFor({ namespace: 'team', serviceAccount: 'reader' });
    const role = ['create', 'clusterrole', 'node-reader', '--verb=get,list', '--resource=nodes'];
    await plane.kubectl(role);
    const binding = ['--clusterrole=node-reader', '--serviceaccount=team:reader'];
    await plane.kubectl(['create', 'clusterrolebinding', 'node-readers', ...binding]);

    const asReader = async (...args: string[]): Promise<string> => {
      const kubectl = await findBinary('kubectl');
      return (await promisify(execFile)(kubectl, [`--kubeconfig=${kubeconfig}`, ...args])).stdout;
    };
    expect(await asReader('auth', 'whoami')).toContain('system:serviceaccount:team:reader');
    await waitFor(() => asReader('get', 'nodes').then(() => true), {
      what: 'the binding to count',
    });
    await expect(asReader('get', 'secrets')).rejects.toThrow('secrets is forbidden');
  });

  it('know a node by its client certificate', async () => {
    const kubeconfig = await plane.kubeconfigForUser({ user: 'system:node:local-0', groups: ['system:nodes'] });
    const kubectl = await findBinary('kubectl');

    const { stdout } = await promisify(execFile)(kubectl, [`--kubeconfig=${kubeconfig}`, 'auth', 'whoami']);
    expect(stdout).toMatch(/system:node:local-0[^]*system:nodes/);
  });

  it('write down who asked for what', async () => {
    await waitFor(() => plane.kubectl(['get', 'configmap', 'kube-root-ca.crt']), {
      what: 'the controller-manager to publish it',
    });

    const events = readFileSync(plane.auditLogPath, 'utf8').trim().split('\n');
    const seen = events.map((line) => JSON.parse(line) as { verb: string; objectRef?: { name?: string } });
    expect(seen).toContainEqual(
      expect.objectContaining({ verb: 'get', objectRef: expect.objectContaining({ name: 'kube-root-ca.crt' }) }),
    );
  });

  it('can lose their apiserver and have it back with everything it knew', async () => {
    await bare.kubectl(['create', 'namespace', 'lasting']);

    await bare.components.apiserver.kill();
    await expect(bare.kubectl(['get', 'namespaces'])).rejects.toThrow('refused');
    await bare.components.apiserver.start();

    expect(await bare.kubectl(['get', 'namespace', 'lasting'])).toContain('Active');
  });

  it('keep everything in a directory that was given', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'kept-'));
    const options = { directory, scheduler: false, controllerManager: false };
    const first = await startControlPlane(options);
    await first.kubectl(['create', 'namespace', 'lasting']);
    await first.stop();

    const second = await startControlPlane(options);
    const read = await second.kubectl(['get', 'namespace', 'lasting']);
    await second.stop();
    rmSync(directory, { recursive: true });

    expect(read).toContain('Active');
    expect(second.url).toBe(first.url);
  });
});
