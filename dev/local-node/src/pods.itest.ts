import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@coxswain/local-cluster';
import type { PodSpec } from './kube/kube-types.ts';
import {
  base,
  commandsOf,
  conditionsOf,
  create,
  deletePod,
  ended,
  follow,
  gone,
  keeperOf,
  logsOf,
  makePod,
  NODES,
  parentOf,
  processesOf,
  running,
  shell,
  startWorld,
  stateOf,
  stopWorld,
  terminated,
  until,
  zombiesBelow,
} from './testing/local-nodes-world.ts';

beforeAll(startWorld);
afterAll(stopWorld);

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
