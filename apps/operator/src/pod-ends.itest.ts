import { API_GROUP_VERSION, LABELS, POD_FINALIZER, type TrainingJob } from '@coxswain/api-types';
import { defineDrainRequests, drainRequests, SYSTEM_NAMESPACE, waitFor } from '@coxswain/local-cluster';
import { DRAIN_RULES } from './permissions.ts';
import { grant } from './testing/grant.ts';
import type { RawPod } from './testing/raw-pod.ts';
import { startWorld, type World } from './testing/world.ts';

/** With the controllers of a cluster that delete pods: this one keeps no more than one that has ended. */
const KEEPS_ONE_ENDED_POD = '--terminated-pod-gc-threshold=1';

let world: World;
beforeAll(async () => {
  world = await startWorld({ extraControllerManagerFlags: [KEEPS_ONE_ENDED_POD] });
  await Promise.all(['node-a', 'node-b', 'node-c'].map((name) => world.node(name, 2)));
});
afterAll(() => world.stop());
afterEach(async () => {
  world.kubelet.isAwake = true;
  world.kubelet.fateOf = () => ({ kind: 'runs' });
  await world.clear();
});

const isRunning = ({ status }: TrainingJob): boolean => status?.state === 'Running';
const deletePod = (
  pod: RawPod & { metadata: { namespace?: string } },
  namespace: string,
  body = {},
): Promise<unknown> =>
  world.plane.admin.send({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}`, body });
const untilNoPods = (namespace: string): Promise<unknown> =>
  waitFor(async () => (await world.pods(namespace)).length === 0, { what: `every pod of ${namespace} to be gone` });

describe('the end of a pod', () => {
  it('is seen although its gang finished while nobody led and the cluster collected the pods: nothing trains again', async () => {
    const first = await world.operator({ identity: 'first' });
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'unwatched');
    await world.until(job, 'running', isRunning);
    await first.stop();
    world.kubelet.fateOf = () => ({ kind: 'exits', code: 0 });
    await waitFor(async () => (await world.pods(namespace)).every(({ status }) => status.phase === 'Succeeded'), {
      what: 'the gang to finish',
    });
    // What the collector of ended pods does above its threshold, done to both, and by force.
    for (const pod of await world.pods(namespace)) await deletePod(pod, namespace, { gracePeriodSeconds: 0 });
    const left = await world.pods(namespace);
    expect(left.map(({ metadata }) => metadata.finalizers)).toEqual([[POD_FINALIZER], [POD_FINALIZER]]);

    await world.operator({ identity: 'second' });
    const complete = await world.until(job, 'complete', ({ status }) => status?.state === 'Complete');
    expect(complete.status).toMatchObject({ epoch: 1, restarts: { total: 0, charged: 0 } });
    await untilNoPods(namespace);
  });

  it('is waited for when it is deleted by force, and counts as the exit that its kubelet reports', async () => {
    await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'forced');
    await world.until(job, 'running', isRunning);
    world.kubelet.isAwake = false;
    const [victim] = await world.pods(namespace);
    if (victim === undefined) throw new Error('the gang has no pod');
    await deletePod(victim, namespace, { gracePeriodSeconds: 0 });
    expect((await world.pods(namespace)).map(({ metadata }) => metadata.name)).toContain(victim.metadata.name);
    expect((await world.readJob(namespace, 'forced')).status?.state).toBe('Running');
    world.kubelet.isAwake = true;
    const again = await world.until(job, 'running again', (now) => isRunning(now) && now.status?.epoch === 2);
    expect(again.status?.attempts?.[0]).toMatchObject({ reason: 'Evicted', charged: false });
    await waitFor(
      async () => (await world.pods(namespace)).every(({ metadata }) => metadata.labels?.[LABELS.epoch] === '2'),
      { what: 'the pods of epoch 1 to be gone' },
    );
  });

  it('holds up neither an eviction nor the collection of pods whose node was removed; neither is charged', async () => {
    await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'drained', { restartPolicy: { maxRestarts: 0, delaySeconds: 0 } });
    await world.until(job, 'running', isRunning);
    const [evicted] = await world.pods(namespace);
    await world.plane.admin.json({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/pods/${evicted?.metadata.name}/eviction`,
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: evicted?.metadata.name, namespace } },
    });
    const moved = await world.until(job, 'running again', (now) => isRunning(now) && now.status?.epoch === 2);
    expect(moved.status?.attempts?.[0]).toMatchObject({ reason: 'Evicted', charged: false });

    const lost = (await world.pods(namespace)).find(({ metadata }) => metadata.labels?.[LABELS.epoch] === '2');
    const node = lost?.spec.nodeName ?? '';
    world.kubelet.lostNodes.add(node);
    await world.plane.kubectl(['delete', 'node', node]);
    try {
      const after = await world.until(job, 'running elsewhere', (now) => isRunning(now) && now.status?.epoch === 3);
      expect(after.status?.attempts?.[1]).toMatchObject({ charged: false });
      expect(after.status?.restarts.charged).toBe(0);
    } finally {
      world.kubelet.lostNodes.delete(node);
      await world.node(node, 2);
    }
  });

  it('holds up no namespace that is deleted, and no pod whose job was torn away from it', async () => {
    await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'condemned');
    await world.until(job, 'running', isRunning);
    await world.plane.kubectl(['delete', 'namespace', namespace, '--wait=true', '--timeout=90s']);

    const other = await world.namespace();
    const torn = await world.job(other, 'torn');
    await world.until(torn, 'running', isRunning);
    await world.plane.admin.json({
      method: 'PATCH',
      path: `/apis/${API_GROUP_VERSION}/namespaces/${other}/trainingjobs/torn`,
      // Deleted first, the operator would still stop it in good order: nobody gives it the chance.
      body: { metadata: { finalizers: null, deletionTimestamp: null } },
      contentType: 'application/merge-patch+json',
    });
    await world.plane.kubectl(['delete', 'trainingjob', '-n', other, 'torn', '--cascade=orphan', '--wait=false']);
    for (const pod of await world.pods(other)) await deletePod(pod, other);
    await untilNoPods(other);
  });

  it('completes the DrainRequest of its node when it is gone and not before; its gang goes on elsewhere', async () => {
    await defineDrainRequests(world.plane);
    const operator = { namespace: SYSTEM_NAMESPACE, serviceAccount: 'coxswain-operator' };
    await grant(world.plane.admin, { name: 'answers-drains', rules: DRAIN_RULES, to: operator });
    const namespace = await world.namespace();
    await world.operator({ environment: { COXSWAIN_ANSWER_DRAINS_IN: namespace } });
    await world.claim(namespace, 'checkpoints');
    const job = await world.job(namespace, 'leaves', {
      restartPolicy: { maxRestarts: 0, delaySeconds: 0 },
      checkpoint: { claimName: 'checkpoints' },
    });
    await world.until(job, 'running', isRunning);
    const pods = await world.pods(namespace);
    const node = pods[0]?.spec.nodeName ?? '';
    const drains = drainRequests(world.plane, namespace);
    const listed = pods.filter(({ spec }) => spec.nodeName === node).map(({ metadata }) => metadata.name);
    world.kubelet.isAwake = false;
    await drains.create('gpu-fault', { nodeName: node, podsToDrain: { [namespace]: listed } });
    await waitFor(async () => (await drains.states('gpu-fault')).includes('Draining=True'), { what: 'an answer' });
    await waitFor(async () => (await world.pods(namespace)).every(({ metadata }) => 'deletionTimestamp' in metadata), {
      what: 'the gang to be stopped',
    });
    expect(await drains.states('gpu-fault')).toEqual(['Draining=True']);
    world.kubelet.isAwake = true;
    await waitFor(async () => (await drains.states('gpu-fault')).includes('DrainComplete=True'), { what: 'the end' });
    const left = await world.pods(namespace);
    expect(left.filter(({ metadata }) => listed.includes(metadata.name))).toEqual([]);
    const moved = await world.until(job, 'running again', (now) => isRunning(now) && now.status?.epoch === 2);
    expect(moved.status).toMatchObject({
      restarts: { charged: 0 },
      attempts: [{ outcome: 'Moved', reason: 'NodeLeaving' }, {}],
    });
    expect((await world.pods(namespace)).map(({ spec }) => spec.nodeName)).not.toContain(node);
  });
});
