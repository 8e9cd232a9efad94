import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@coxswain/local-cluster';
import { setLostNodes } from './local-nodes.ts';
import {
  agents,
  base,
  conditionsOf,
  deletePod,
  ended,
  logsOf,
  look,
  makePod,
  type NodeName,
  optionsOf,
  plane,
  processesOf,
  running,
  shell,
  startWorld,
  stopWorld,
  terminated,
  until,
} from './testing/local-nodes-world.ts';

beforeAll(startWorld);
afterAll(stopWorld);

describe('a node', () => {
  interface SeenNode {
    readonly metadata: { readonly labels: Record<string, string> };
    readonly spec: { readonly taints?: readonly { key: string }[] };
    readonly status: {
      readonly capacity: Record<string, string>;
      readonly conditions: readonly { type: string; status: string }[];
    };
  }
  const lookAt = (name: NodeName): Promise<SeenNode> =>
    plane.admin.json<SeenNode>({ method: 'GET', path: `/api/v1/nodes/${name}` });
  const renewal = async (name: NodeName): Promise<string> => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
    return (await plane.admin.json<{ spec: { renewTime: string } }>({ method: 'GET', path })).spec.renewTime;
  };

  it('is registered as its fabric file says, marked as local, and renews its lease', async () => {
    const node = await lookAt('by-root');
    expect(node.metadata.labels).toMatchObject({
      'coxswain.dev/local-node': 'true',
      'fabric.coxswain.dev/nvlink-domain': 'nvl-a',
    });
    expect(node.status.capacity['nvidia.com/gpu']).toBe('2');
    const first = await renewal('by-root');
    await waitFor(async () => (await renewal('by-root')) > first, { what: 'a heartbeat' });
  });

  it('that is lost with its machine falls silent, and reports its dead pods when it returns', async () => {
    const pod = await running(await makePod('by-user', { main: shell('exec sleep 1000') }));
    await agents.get('by-user')?.loseNode('by-user');
    expect(processesOf('by-user', pod)).toEqual([]);
    const last = await renewal('by-user');
    expect((await look(pod))?.status.phase).toBe('Running');
    await expect(logsOf(pod)).rejects.toThrow();
    await agents.get('by-user')?.returnNode('by-user');
    expect(terminated(await ended(pod))).toMatchObject({ exitCode: 137, reason: 'ContainerStatusUnknown' });
    await waitFor(async () => (await renewal('by-user')) > last, {
      what: 'heartbeats to return',
    });
  });

  it('that is cut off keeps its pods as zombies, which die on its return when they were deleted meanwhile', async () => {
    const pod = await running(await makePod('by-rewrite', { main: shell('exec sleep 1000') }));
    setLostNodes(optionsOf('by-rewrite').directory, { 'by-rewrite': 'running' });
    await waitFor(
      async () =>
        logsOf(pod).then(
          () => false,
          () => true,
        ),
      { what: 'the node to be cut off' },
    );
    await deletePod(pod, 0);
    expect(processesOf('by-rewrite', pod)).toHaveLength(1);
    setLostNodes(optionsOf('by-rewrite').directory, {});
    await waitFor(() => processesOf('by-rewrite', pod).length === 0, {
      what: 'the zombie to die',
    });
  });

  it('answers for logs to nobody without a certificate of the cluster', async () => {
    const node = await plane.admin.json<{ status: { daemonEndpoints: { kubeletEndpoint: { Port: number } } } }>({
      method: 'GET',
      path: '/api/v1/nodes/by-root',
    });
    const { Port } = node.status.daemonEndpoints.kubeletEndpoint;
    const { request } = await import('node:https');
    const asked = new Promise<string>((resolve) => {
      const call = request({ host: '127.0.21.1', port: Port, path: '/healthz', rejectUnauthorized: false }, () =>
        resolve('answered'),
      );
      call.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      call.end();
    });
    expect(await asked).not.toBe('answered');
  });

  it('is not used beyond its simulated GPUs', async () => {
    const resources = { limits: { 'nvidia.com/gpu': '2' } };
    const holder = await running(await makePod('by-root', { main: { ...shell('exec sleep 1000'), resources } }));
    const waiter = await makePod('by-root', { main: { ...shell('true'), resources } });
    const refused = await until(
      waiter,
      'to be refused',
      ({ conditions }) => conditionsOf(conditions)['PodScheduled'] === 'False',
    );
    expect(refused.status.conditions?.[0]?.message).toContain('Insufficient nvidia.com/gpu');
    await deletePod(holder, 0);
    await ended(waiter);
  });
});

describe('an agent in a process of its own', () => {
  it('takes every process of its pods along when it is killed with SIGKILL', async () => {
    const caFile = join(base, 'kubelet-client-ca.pem');
    writeFileSync(caFile, plane.kubeletClientCaPem);
    const { kubeconfig, fabricFile, imagesFile, directory } = optionsOf('apart');
    const args = [
      '--kubeconfig',
      String(kubeconfig),
      '--fabric',
      fabricFile,
      '--images',
      imagesFile,
      '--directory',
      directory,
    ];
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'main.ts'), ...args, '--kubelet-client-ca', caFile],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let printed = '';
    child.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    try {
      await waitFor(() => printed.includes('local nodes ready: apart'), {
        what: 'the agent to be ready',
      });
      expect(printed).toMatch(/^WARNING: .*For development and tests only\.\n/);
      const pod = await running(
        await makePod('apart', { main: shell('(setsid sleep 1000 &); trap "" TERM; while :; do sleep 0.1; done') }),
      );
      await waitFor(() => processesOf('apart', pod).length >= 2, { what: 'its processes' });
      const before = processesOf('apart', pod);
      child.kill('SIGKILL');
      await waitFor(() => before.every(({ pid }) => !existsSync(`/proc/${pid}`)), {
        what: 'every process to die',
      });
    } finally {
      child.kill('SIGKILL');
    }
  });
});
