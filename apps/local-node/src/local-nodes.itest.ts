import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBinary, startControlPlane, type ControlPlane, waitFor, listPodProcesses } from '@coxswain/local-cluster';
import type { Container, PodSpec, PodStatus } from './kube/kube-types.ts';
import { setLostNodes, startLocalNodes, type LocalNodes } from './local-nodes.ts';

/** A node per way of mounting, each with an agent of its own, and one for the agent that is killed. */
const NODES = [
  { name: 'by-root', address: '127.0.21.1', mounts: 'root' },
  { name: 'by-user', address: '127.0.21.2', mounts: 'user' },
  { name: 'by-rewrite', address: '127.0.21.3', mounts: 'rewrite' },
  { name: 'apart', address: '127.0.21.4', mounts: 'rewrite' },
] as const;
type NodeName = (typeof NODES)[number]['name'];

let plane: ControlPlane;
let base: string;
const agents = new Map<NodeName, LocalNodes>();

beforeAll(async () => {
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
});

afterAll(async () => {
  await Promise.all([...agents.values()].map((agent) => agent.stop()));
  await plane?.stop();
  rmSync(base, { recursive: true, force: true });
});

const paths = new Map<NodeName, string>();

function optionsOf(name: NodeName): Parameters<typeof startLocalNodes>[0] {
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

async function create<T>(path: string, body: object): Promise<T> {
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

interface SeenPod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: PodStatus;
}

let made = 0;

/** A pod with one container `main` of the known image; the scheduler puts it on `node`. */
async function makePod(
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

function shell(script: string): Pick<Container, 'command'> {
  return { command: ['sh', '-c', script] };
}

async function look(pod: SeenPod): Promise<SeenPod | undefined> {
  const answer = await plane.admin.send({
    method: 'GET',
    path: `/api/v1/namespaces/default/pods/${pod.metadata.name}`,
  });
  return answer.status === 200 ? (JSON.parse(answer.body) as SeenPod) : undefined;
}

function until(pod: SeenPod, what: string, holds: (status: PodStatus) => boolean): Promise<SeenPod> {
  return waitFor(
    async () => {
      const seen = await look(pod);
      return seen !== undefined && holds(seen.status) ? seen : undefined;
    },
    { what: `pod ${pod.metadata.name} ${what}` },
  );
}

const ended = (pod: SeenPod): Promise<SeenPod> =>
  until(pod, 'to end', ({ phase }) => phase === 'Succeeded' || phase === 'Failed');
const running = (pod: SeenPod): Promise<SeenPod> =>
  until(pod, 'to be ready', ({ conditions }) => conditionsOf(conditions)['Ready'] === 'True');
const conditionsOf = (conditions: PodStatus['conditions'] = []): Record<string, string> =>
  Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
const terminated = (pod: SeenPod): NonNullable<ReturnType<typeof stateOf>['terminated']> =>
  stateOf(pod).terminated ?? fail();
const stateOf = (pod: SeenPod): NonNullable<PodStatus['containerStatuses']>[number]['state'] =>
  pod.status.containerStatuses?.[0]?.state ?? {};
const fail = (): never => {
  throw new Error('the container has not terminated');
};
const logsOf = (pod: SeenPod, ...args: string[]): Promise<string> =>
  plane.kubectl(['logs', pod.metadata.name, ...args]);

async function follow(pod: SeenPod): Promise<{ readonly text: () => string; readonly ended: Promise<void> }> {
  const args = [`--kubeconfig=${plane.adminKubeconfigPath}`, 'logs', '-f', pod.metadata.name];
  const child = spawn(await findBinary('kubectl'), args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { text: () => text, ended: new Promise((resolve) => child.once('close', () => resolve())) };
}

async function deletePod(pod: SeenPod, graceSeconds?: number): Promise<void> {
  const query = graceSeconds === undefined ? '' : `?gracePeriodSeconds=${graceSeconds}`;
  await plane.admin.json({ method: 'DELETE', path: `/api/v1/namespaces/default/pods/${pod.metadata.name}${query}` });
}

const gone = (pod: SeenPod): Promise<unknown> =>
  waitFor(async () => (await look(pod)) === undefined, {
    what: `${pod.metadata.name} to be gone`,
  });

describe.each(NODES.filter(({ name }) => name !== 'apart'))(
  'a pod on a node that mounts $name',
  ({ name: node, mounts, address }) => {
    it('sees its environment, expanded, and its arguments', async () => {
      const pod = await makePod(node, {
        labels: { role: 'worker' },
        main: {
          ...shell('echo "$@"; echo "$ROLE $IP $NODE $MODE $KEY $ALL_note $BOTH $FROM_IMAGE $GREETING"'),
          args: ['sh', '$(ROLE)', '$(UNKNOWN)', '$$(ROLE)'],
          envFrom: [{ prefix: 'ALL_', configMapRef: { name: 'settings' } }],
          env: [
            { name: 'ROLE', valueFrom: { fieldRef: { fieldPath: "metadata.labels['role']" } } },
            { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
            { name: 'MODE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } },
            { name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'key' } } },
            { name: 'GREETING', value: 'hello $(ROLE)' },
            { name: 'BOTH', value: '$(ROLE)-$(MODE)' },
          ],
        },
      });
      expect((await ended(pod)).status.phase).toBe('Succeeded');
      const greeting = `worker ${address} ${node} fast s3cret from the map worker-fast yes hello worker`;
      expect(await logsOf(pod)).toBe(`worker $(UNKNOWN) $(ROLE)\n${greeting}\n`);
    });

    it('finds its volumes at their mountPath, shares them between containers and cannot write where it may only read', async () => {
      const pod = await makePod(node, {
        spec: {
          initContainers: [
            {
              name: 'first',
              image: 'engine:1',
              command: ['cp', '/etc/settings/mode', '/data/copied'],
              volumeMounts: MOUNTS,
            },
            { name: 'second', image: 'engine:1', command: ['mv', '/data/copied', '/data/moved'], volumeMounts: MOUNTS },
          ],
          volumes: [
            { name: 'data', emptyDir: {} },
            { name: 'settings', configMap: { name: 'settings' } },
            { name: 'claim', persistentVolumeClaim: { claimName: 'checkpoints' } },
            {
              name: 'token',
              projected: {
                sources: [{ serviceAccountToken: { path: 'token', audience: 'coxswain', expirationSeconds: 600 } }],
              },
            },
          ],
        },
        main: {
          command: ['cat', '/data/moved', '/opt/engine/version', '/srv/not/there/token/token'],
          volumeMounts: [...MOUNTS, { name: 'token', mountPath: '/srv/not/there/token', readOnly: true }],
          workingDir: '/data',
        },
      });
      expect((await ended(pod)).status.initContainerStatuses?.map(({ ready }) => ready)).toEqual([true, true]);
      const [, token = ''] = (await logsOf(pod)).split('fastengine 7\n');
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<
        string,
        unknown
      >;
      expect(claims).toMatchObject({ aud: ['coxswain'], 'kubernetes.io': { pod: { uid: pod.metadata.uid } } });
      expect(existsSync('/srv/not')).toBe(false);
      if (mounts !== 'rewrite') {
        const wrong = await ended(
          await makePod(node, {
            ...readOnlyPod(),
            main: { ...shell('echo x > /etc/settings/mode'), volumeMounts: MOUNTS.slice(0, 1) },
          }),
        );
        expect(terminated(wrong).exitCode).not.toBe(0);
      }
    });

    it('keeps what it writes to a claim, under the subPath, where every node sees it', async () => {
      const pod = await makePod(node, {
        spec: { volumes: [{ name: 'claim', persistentVolumeClaim: { claimName: 'checkpoints' } }] },
        main: {
          command: ['touch', `/ckpt/of-${node}`],
          volumeMounts: [{ name: 'claim', mountPath: '/ckpt', subPath: 'runs/a' }],
        },
      });
      expect((await ended(pod)).status.phase).toBe('Succeeded');
      expect(existsSync(join(base, 'shared/runs/a', `of-${node}`))).toBe(true);
    });

    it('tells its exit code, reason and last words', async () => {
      const path = '/tmp/last-words';
      const pod = await makePod(node, {
        main: {
          command: ['sh', '-c', 'echo out of memory at rank 3 > "$0"; exit 7', path],
          terminationMessagePath: path,
        },
      });
      const seen = await ended(pod);
      expect(seen.status.phase).toBe('Failed');
      expect(terminated(seen)).toMatchObject({ exitCode: 7, reason: 'Error', message: 'out of memory at rank 3\n' });
      expect(existsSync(path)).toBe(false);
    });
  },
);

const MOUNTS = [
  { name: 'settings', mountPath: '/etc/settings', readOnly: true },
  { name: 'data', mountPath: '/data' },
];
const readOnlyPod = (): { spec: Partial<PodSpec> } => ({
  spec: { volumes: [{ name: 'settings', configMap: { name: 'settings' } }] },
});

describe('a running pod', () => {
  it('has the conditions, address and state that a kubelet reports, before and after', async () => {
    const pod = await running(await makePod('by-root', { main: shell('exec sleep 1000') }));
    expect(pod.status).toMatchObject({ phase: 'Running', podIP: '127.0.21.1', hostIP: '127.0.21.1' });
    expect(stateOf(pod).running?.startedAt).toBeDefined();
    const all = {
      PodScheduled: 'True',
      PodReadyToStartContainers: 'True',
      Initialized: 'True',
      ContainersReady: 'True',
      Ready: 'True',
    };
    expect(conditionsOf(pod.status.conditions)).toEqual(all);
    await deletePod(pod, 0);
    await waitFor(() => processesOf('by-root', pod).length === 0, {
      what: 'the processes of a force-deleted pod to go',
    });
  });

  it('gets SIGTERM when it is deleted, may say how it ended, and its object goes when its processes have', async () => {
    const pod = await makePod('by-root', {
      main: shell('trap "echo saved; exit 0" TERM; echo up; while :; do sleep 0.1; done'),
    });
    await running(pod);
    const following = await follow(pod);
    await waitFor(() => following.text() === 'up\n', {
      what: 'the first line to be followed',
    });
    await deletePod(pod);
    await gone(pod);
    await following.ended;
    expect(following.text()).toBe('up\nsaved\n');
    expect(processesOf('by-root', pod)).toEqual([]);
  });

  it('is killed after the grace of the deletion when it ignores SIGTERM', async () => {
    const pod = await running(await makePod('by-root', { main: shell('trap "" TERM; while :; do sleep 0.1; done') }));
    const started = performance.now();
    await deletePod(pod, 1);
    await gone(pod);
    expect(performance.now() - started).toBeGreaterThan(900);
    expect(processesOf('by-root', pod)).toEqual([]);
  });

  it('leaves neither zombie nor survivor when it orphans a process by a double fork', async () => {
    const script =
      '(setsid sh -c "sleep 1000 & sleep 0.01") & wait; (setsid sleep 0.01 &); echo forked; exec sleep 1001';
    const pod = await makePod('by-root', { main: shell(script) });
    await waitFor(async () => (await logsOf(pod).catch(() => '')).includes('forked'), {
      what: 'the orphan',
    });
    await waitFor(() => commandsOf('by-root', pod).join() === 'sleep 1000,sleep 1001', {
      what: 'the orphans that ended to be reaped',
    });
    const before = processesOf('by-root', pod);
    expect(zombiesBelow(before.map(({ parentPid }) => parentPid))).toEqual([]);
    const first = before.find(({ argv }) => argv[1] === '1001');
    process.kill(first?.pid ?? 0, 'SIGKILL');
    expect(terminated(await ended(pod))).toMatchObject({ exitCode: 137, reason: 'Error' });
    await waitFor(() => before.every(({ pid }) => !existsSync(`/proc/${pid}`)), { what: 'every process to die' });
  });

  it.each([
    { whom: 'sandbox', victim: (parent: number) => parentOf(parent) },
    { whom: 'keeper of its container', victim: (parent: number) => parent },
  ])('leaves no survivor when the $whom is killed with SIGKILL', async ({ victim }) => {
    const script = '(setsid sleep 1000 &); trap "" TERM; echo up; while :; do sleep 0.1; done';
    const pod = await makePod('by-root', { main: shell(script) });
    await waitFor(async () => (await logsOf(pod).catch(() => '')).includes('up'), {
      what: 'its start',
    });
    const before = processesOf('by-root', pod);
    process.kill(victim(keeperOf(before)), 'SIGKILL');
    expect(terminated(await ended(pod)).exitCode).toBe(137);
    await waitFor(() => before.every(({ pid }) => !existsSync(`/proc/${pid}`)), {
      what: 'every process to die',
    });
  });

  it('shows the tail of its log, with times, and falls back to it for its last words', async () => {
    const main = {
      ...shell('for i in 1 2 3; do echo line $i; done; exit 1'),
      terminationMessagePolicy: 'FallbackToLogsOnError',
    } as const;
    const pod = await ended(await makePod('by-root', { main }));
    expect(terminated(pod).message).toBe('line 1\nline 2\nline 3\n');
    expect(await logsOf(pod, '--tail=1')).toBe('line 3\n');
    expect(await logsOf(pod, '--tail=1', '--timestamps')).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z line 3\n$/);
    expect(await logsOf(pod, '-c', 'other').catch(String)).toContain('other');
  });

  it('is restarted under restartPolicy OnFailure, with its last state and its previous log', async () => {
    const script = 'echo once; if [ -e /data/tried ]; then sleep 1000; fi; touch /data/tried; exit 5';
    const spec = { restartPolicy: 'OnFailure', volumes: [{ name: 'data', emptyDir: {} }] } as const;
    const pod = await makePod('by-root', {
      spec,
      main: { ...shell(script), volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    });
    const seen = await until(
      pod,
      'to run again',
      ({ containerStatuses }) => containerStatuses?.[0]?.restartCount === 1 && containerStatuses[0].ready,
    );
    expect(seen.status.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(5);
    expect(await logsOf(pod, '--previous')).toBe('once\n');
    await deletePod(pod, 0);
  });
});

describe('what cannot be started says why, as a kubelet does', () => {
  it.each([
    {
      name: 'an unknown image',
      main: { image: 'nobody/has:this', ...shell('true') },
      reason: 'ErrImagePull',
      says: 'images.yaml',
    },
    {
      name: 'an unknown image, later',
      main: { image: 'nobody/has:this', ...shell('true') },
      reason: 'ImagePullBackOff',
      says: 'nobody/has:this',
    },
    {
      name: 'a config map that is missing',
      main: { ...shell('true'), env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'absent', key: 'a' } } }] },
      reason: 'CreateContainerConfigError',
      says: 'configmap "absent" not found',
    },
    {
      name: 'a key that is missing',
      main: { ...shell('true'), env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'absent' } } }] },
      reason: 'CreateContainerConfigError',
      says: "couldn't find key absent in Secret default/keys",
    },
    { name: 'no command', main: {}, reason: 'CreateContainerError', says: 'no command specified' },
  ])('$name waits with $reason', async ({ main, reason, says }) => {
    const pod = await makePod('by-root', { main });
    const seen = await until(
      pod,
      `to wait with ${reason}`,
      (status) => status.containerStatuses?.[0]?.state.waiting?.reason === reason,
    );
    expect(stateOf(seen).waiting?.message).toContain(says);
    expect(seen.status.phase).toBe('Pending');
    await deletePod(pod);
    await gone(pod);
  });

  it('a command that does not exist ends the container with StartError and 128', async () => {
    const seen = await ended(await makePod('by-root', { main: { command: ['no-such-command'] } }));
    expect(terminated(seen)).toMatchObject({ exitCode: 128, reason: 'StartError' });
    expect(terminated(seen).message).toContain('exec: "no-such-command": executable file not found in $PATH');
  });

  it('an init container that fails ends the pod before its containers', async () => {
    const initContainers = [{ name: 'first', image: 'engine:1', ...shell('exit 9') }];
    const seen = await ended(await makePod('by-root', { main: shell('true'), spec: { initContainers } }));
    expect(seen.status.phase).toBe('Failed');
    expect(stateOf(seen).waiting?.reason).toBe('PodInitializing');
    expect(conditionsOf(seen.status.conditions)['Initialized']).toBe('False');
  });

  it('a volume whose config map is missing keeps the container from being created until it is there', async () => {
    const volumes = [{ name: 'late', configMap: { name: 'late' } }];
    const pod = await makePod('by-root', {
      spec: { volumes },
      main: { ...shell('cat /late/a'), volumeMounts: [{ name: 'late', mountPath: '/late' }] },
    });
    await until(
      pod,
      'to wait',
      (status) => status.containerStatuses?.[0]?.state.waiting?.reason === 'ContainerCreating',
    );
    await create('/api/v1/namespaces/default/configmaps', {
      kind: 'ConfigMap',
      metadata: { name: 'late' },
      data: { a: 'came' },
    });
    await ended(pod);
    expect(await logsOf(pod)).toBe('came');
  });
});

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
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    try {
      await waitFor(() => said.includes('local nodes ready: apart'), {
        what: 'the agent to be ready',
      });
      expect(said).toMatch(/^WARNING: .*For development and tests only\.\n/);
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

function processesOf(node: NodeName, pod: SeenPod): ReturnType<typeof listPodProcesses> {
  return listPodProcesses(optionsOf(node).directory, pod.metadata.uid);
}

function commandsOf(node: NodeName, pod: SeenPod): string[] {
  return processesOf(node, pod)
    .map(({ argv }) => argv.join(' '))
    .sort();
}

/** The container's first process is a child of its keeper; so are orphans. */
function keeperOf(processes: ReturnType<typeof processesOf>): number {
  return processes.find(({ argv }) => argv[0] === 'sh')?.parentPid ?? 0;
}

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function zombiesBelow(parents: readonly number[]): string[] {
  return parents.flatMap((parent) => {
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ');
    const states = children.filter((pid) => pid !== '').map((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return states.filter((stat) => stat.includes(') Z '));
  });
}
