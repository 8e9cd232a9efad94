import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBinary, startControlPlane, type ControlPlane, waitFor, listPodProcesses } from '@coxswain/local-cluster';
import type { Container, PodSpec, PodStatus } from '../kube/kube-types.ts';
import { startLocalNodes, type LocalNodes } from '../local-nodes.ts';

/** A node per way of mounting, each with an agent of its own, and one for the agent that is killed. */
export const NODES = [
  { name: 'by-root', address: '127.0.21.1', mounts: 'root' },
  { name: 'by-user', address: '127.0.21.2', mounts: 'user' },
  { name: 'by-rewrite', address: '127.0.21.3', mounts: 'rewrite' },
  { name: 'apart', address: '127.0.21.4', mounts: 'rewrite' },
] as const;
export type NodeName = (typeof NODES)[number]['name'];

export let plane: ControlPlane;
export let base: string;
export const agents = new Map<NodeName, LocalNodes>();

/** Starts a control plane and the agents of all nodes but the one apart. */
export async function startWorld(): Promise<void> {
  base = mkdtempSync(join(tmpdir(), 'local-nodes-'));
  mkdirSync(join(base, 'image/opt/engine'), { recursive: true });
  writeFileSync(join(base, 'image/opt/engine/version'), 'engine 7\n');
  mkdirSync(join(base, 'shared'));
  writeFileSync(join(base, 'images.yaml'), 'images:\n  engine:1: { root: image, env: { FROM_IMAGE: "yes" } }\n');
  plane = await startControlPlane();
  await create('/api/v1/namespaces/default/configmaps', {
    kind: 'ConfigMap',
    metadata: { name: 'settings' },
    data: { mode: 'fast', note: 'from the map' },
  });
  await create('/api/v1/namespaces/default/secrets', {
    kind: 'Secret',
    metadata: { name: 'keys' },
    stringData: { key: 's3cret' },
  });
  await createVolume();
  for (const node of NODES) {
    writeFileSync(join(base, `${node.name}.yaml`), fabricOf(node));
    await plane
      .kubeconfigForUser({ user: `system:node:${node.name}`, groups: ['system:nodes'] })
      .then((path) => paths.set(node.name, path));
    if (node.name !== 'apart') {
      agents.set(node.name, await startLocalNodes({ ...optionsOf(node.name), mounts: node.mounts, heartbeatMs: 1000 }));
    }
  }
}

export async function stopWorld(): Promise<void> {
  await Promise.all([...agents.values()].map((agent) => agent.stop()));
  await plane?.stop();
  rmSync(base, { recursive: true, force: true });
}

const paths = new Map<NodeName, string>();

export function optionsOf(name: NodeName): Parameters<typeof startLocalNodes>[0] {
  return {
    kubeconfig: paths.get(name) ?? '',
    fabricFile: join(base, `${name}.yaml`),
    imagesFile: join(base, 'images.yaml'),
    directory: join(base, 'agents', name),
    kubeletClientCaPem: plane.kubeletClientCaPem,
  };
}

function fabricOf({ name, address }: { name: string; address: string }): string {
  const labels = { 'fabric.coxswain.dev/nvlink-domain': 'nvl-a' };
  const taints = name === 'apart' ? [{ key: 'only', value: 'asked', effect: 'NoSchedule' }] : [];
  return JSON.stringify({ nodes: [{ name, address, labels, taints, capacity: { 'nvidia.com/gpu': 2 } }] });
}

export async function create<T>(path: string, body: object): Promise<T> {
  return plane.admin.json<T>({ method: 'POST', path, body: { apiVersion: 'v1', ...body } });
}

async function createVolume(): Promise<void> {
  const spec = { accessModes: ['ReadWriteMany'], storageClassName: '', capacity: { storage: '1Gi' } };
  await create('/api/v1/persistentvolumes', {
    kind: 'PersistentVolume',
    metadata: { name: 'checkpoints' },
    spec: { ...spec, hostPath: { path: join(base, 'shared') } },
  });
  await create('/api/v1/namespaces/default/persistentvolumeclaims', {
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'checkpoints' },
    spec: {
      accessModes: spec.accessModes,
      storageClassName: '',
      volumeName: 'checkpoints',
      resources: { requests: { storage: '1Gi' } },
    },
  });
}

export interface SeenPod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: PodStatus;
}

let made = 0;

/** A pod with one container `main` of the known image; the scheduler puts it on `node`. */
export async function makePod(
  node: NodeName,
  parts: { main?: Partial<Container>; spec?: Partial<PodSpec>; labels?: Record<string, string> },
): Promise<SeenPod> {
  made += 1;
  const main = { name: 'main', image: 'engine:1', ...parts.main };
  return create<SeenPod>('/api/v1/namespaces/default/pods', {
    kind: 'Pod',
    metadata: { name: `pod-${made}`, labels: parts.labels ?? {} },
    spec: {
      restartPolicy: 'Never',
      nodeSelector: { 'kubernetes.io/hostname': node },
      tolerations: [{ operator: 'Exists' }],
      containers: [main],
      ...parts.spec,
    },
  });
}

export function shell(script: string): Pick<Container, 'command'> {
  return { command: ['sh', '-c', script] };
}

export async function look(pod: SeenPod): Promise<SeenPod | undefined> {
  const answer = await plane.admin.send({
    method: 'GET',
    path: `/api/v1/namespaces/default/pods/${pod.metadata.name}`,
  });
  return answer.status === 200 ? (JSON.parse(answer.body) as SeenPod) : undefined;
}

export function until(pod: SeenPod, what: string, holds: (status: PodStatus) => boolean): Promise<SeenPod> {
  return waitFor(
    async () => {
      const seen = await look(pod);
      return seen !== undefined && holds(seen.status) ? seen : undefined;
    },
    { what: `pod ${pod.metadata.name} ${what}` },
  );
}

export const ended = (pod: SeenPod): Promise<SeenPod> =>
  until(pod, 'to end', ({ phase }) => phase === 'Succeeded' || phase === 'Failed');
export const running = (pod: SeenPod): Promise<SeenPod> =>
  until(pod, 'to be ready', ({ conditions }) => conditionsOf(conditions)['Ready'] === 'True');
export const conditionsOf = (conditions: PodStatus['conditions'] = []): Record<string, string> =>
  Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
export const terminated = (pod: SeenPod): NonNullable<ReturnType<typeof stateOf>['terminated']> =>
  stateOf(pod).terminated ?? fail();
export const stateOf = (pod: SeenPod): NonNullable<PodStatus['containerStatuses']>[number]['state'] =>
  pod.status.containerStatuses?.[0]?.state ?? {};
const fail = (): never => {
  throw new Error('the container has not terminated');
};
export const logsOf = (pod: SeenPod, ...args: string[]): Promise<string> =>
  plane.kubectl(['logs', pod.metadata.name, ...args]);

export async function follow(pod: SeenPod): Promise<{ readonly text: () => string; readonly ended: Promise<void> }> {
  const args = [`--kubeconfig=${plane.adminKubeconfigPath}`, 'logs', '-f', pod.metadata.name];
  const child = spawn(await findBinary('kubectl'), args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { text: () => text, ended: new Promise((resolve) => child.once('close', () => resolve())) };
}

export async function deletePod(pod: SeenPod, graceSeconds?: number): Promise<void> {
  const query = graceSeconds === undefined ? '' : `?gracePeriodSeconds=${graceSeconds}`;
  await plane.admin.json({ method: 'DELETE', path: `/api/v1/namespaces/default/pods/${pod.metadata.name}${query}` });
}

export const gone = (pod: SeenPod): Promise<unknown> =>
  waitFor(async () => (await look(pod)) === undefined, {
    what: `${pod.metadata.name} to be gone`,
  });

export function processesOf(node: NodeName, pod: SeenPod): ReturnType<typeof listPodProcesses> {
  return listPodProcesses(optionsOf(node).directory, pod.metadata.uid);
}

export function commandsOf(node: NodeName, pod: SeenPod): string[] {
  return processesOf(node, pod)
    .map(({ argv }) => argv.join(' '))
    .sort();
}

/** The container's first process is a child of its keeper; so are orphans. */
export function keeperOf(processes: ReturnType<typeof processesOf>): number {
  return processes.find(({ argv }) => argv[0] === 'sh')?.parentPid ?? 0;
}

export function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

export function zombiesBelow(parents: readonly number[]): string[] {
  return parents.flatMap((parent) => {
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ');
    const states = children.filter((pid) => pid !== '').map((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return states.filter((stat) => stat.includes(') Z '));
  });
}
