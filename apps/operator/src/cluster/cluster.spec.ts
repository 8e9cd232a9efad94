import { CONTAINERS, GPU_RESOURCE, LABELS, SCHEDULING_GATE } from '@coxswain/api-types';
import { ObjectStore, type KubeObject } from '@coxswain/kube';
import { FakeClock } from '@coxswain/kube/testing';
import { toCachedNode } from './cached-node.ts';
import { toCachedPod, toObservedPod, type CachedPod } from './cached-pod.ts';
import { GpuUsage } from './gpu-usage.ts';
import { OwnWrites } from './own-writes.ts';

const aPod = (overrides: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'p',
      namespace: 'n',
      uid: 'u1',
      resourceVersion: '5',
      labels: { [LABELS.jobUid]: 'job-1', [LABELS.epoch]: '2', [LABELS.podIndex]: '1' },
      ownerReferences: [{ apiVersion: 'x', kind: 'TrainingJob', name: 'j', uid: 'job-1', controller: true }],
      ...metadata,
    },
    spec: {
      nodeName: 'node-a',
      containers: [{ name: CONTAINERS.trainer, resources: { limits: { [GPU_RESOURCE]: '2' } } }],
    },
    status: { phase: 'Running' },
    ...overrides,
  }) as unknown as KubeObject;
const trainer = (state: unknown): unknown => ({
  phase: 'Failed',
  containerStatuses: [{ name: CONTAINERS.trainer, image: 'i', state }],
});

describe('what is kept of a pod', () => {
  it('is its place in the gang and its GPUs', () => {
    expect(toObservedPod(toCachedPod(aPod()), 'job-1')).toMatchObject({
      ours: true,
      epoch: 2,
      podIndex: 1,
      gated: false,
    });
    expect(toCachedPod(aPod()).gpus).toBe(2);
  });

  it('is nothing but its GPUs for a stranger', () => {
    const stranger = toCachedPod(aPod({}, { labels: { app: 'web' } }));
    expect(stranger).not.toHaveProperty('gang');
    expect(stranger.metadata).not.toHaveProperty('labels');
  });

  it('does not take a pod for ours that merely bears our label', () => {
    const impostor = toCachedPod(aPod({}, { ownerReferences: [] }));
    expect(toObservedPod(impostor, 'job-1')).toMatchObject({ ours: false, epoch: 0, podIndex: 0 });
  });

  it('knows where our gate is among others', () => {
    const gates = [{ name: 'other' }, { name: SCHEDULING_GATE }];
    expect(toCachedPod(aPod({ spec: { schedulingGates: gates } })).gang?.gatePosition).toBe(1);
  });

  it.each([
    ['a garbled termination message', { terminated: { exitCode: 1, reason: 'Error', message: '{"version":1,' } }],
    ['no termination message', { terminated: { exitCode: 1, reason: 'Error' } }],
  ])('survives %s: exit code and reason remain', (_what, state) => {
    const seen = toObservedPod(toCachedPod(aPod({ status: trainer(state) })), 'job-1').exit;
    expect(seen).toEqual({ exitCode: 1, reason: 'Error' });
  });

  it.each([
    ['no spec and no status', { spec: undefined, status: undefined }],
    ['lists that are none', { spec: { containers: 'x', schedulingGates: 7 }, status: { conditions: {}, phase: 3 } }],
    ['null everywhere', { spec: null, status: null }],
    ['null inside lists', { spec: { containers: [null] }, status: { containerStatuses: [null], conditions: [null] } }],
  ])('survives a pod with %s', (_what, overrides) => {
    expect(() => toObservedPod(toCachedPod(aPod(overrides)), 'job-1')).not.toThrow();
  });
});

describe('what is kept of a node', () => {
  const aNode = (spec: unknown, ready = 'True'): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'node-a', uid: 'u', resourceVersion: '1' },
      spec,
      status: { allocatable: { [GPU_RESOURCE]: '8' }, conditions: [{ type: 'Ready', status: ready }] },
    }) as unknown as KubeObject;

  it.each([
    ['takes pods', {}, true],
    ['takes none when it is cordoned', { unschedulable: true }, false],
    [
      'takes none behind a taint that a gang does not tolerate',
      { taints: [{ key: 'x', effect: 'NoSchedule' }] },
      false,
    ],
    ['takes ours behind the taint of GPU nodes', { taints: [{ key: GPU_RESOURCE, effect: 'NoSchedule' }] }, true],
    ['takes pods that are merely unwelcome', { taints: [{ key: 'x', effect: 'PreferNoSchedule' }] }, true],
  ])('a node %s', (_sentence, spec, want) => {
    expect(toCachedNode(aNode(spec)).facts).toMatchObject({ gpuCapacity: 8, schedulable: want, ready: true });
  });
});

describe('our own writes over a cache', () => {
  const setUp = (): { store: ObjectStore<CachedPod>; writes: OwnWrites<CachedPod>; clock: FakeClock } => {
    const store = new ObjectStore<CachedPod>();
    const clock = new FakeClock();
    return { store, clock, writes: new OwnWrites(store, clock) };
  };
  const version = (resourceVersion: string, uid = 'u1'): CachedPod =>
    toCachedPod(aPod({}, { resourceVersion, uid, name: uid }));
  const names = (pods: readonly CachedPod[]): string[] =>
    pods.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);

  it('show a pod that was created and has not been heard of yet', () => {
    const { store, writes } = setUp();
    writes.remember('job-1', version('7'));
    expect(names(writes.view('job-1', store.list()))).toEqual(['u1@7']);
    expect(writes.view('job-2', [])).toEqual([]);
  });

  it('give way as soon as the cache knows as much', () => {
    const { store, writes } = setUp();
    writes.remember('job-1', version('7'));
    store.upsert(version('7'));
    expect(writes.size).toBe(0);
    store.upsert(version('9'));
    expect(names(writes.view('job-1', store.list()))).toEqual(['u1@9']);
  });

  it('outdo a cache that is behind', () => {
    const { store, writes } = setUp();
    store.upsert(version('5'));
    writes.remember('job-1', version('7'));
    expect(names(writes.view('job-1', store.list()))).toEqual(['u1@7']);
  });

  it('hide what was deleted, until the cache has heard of it', () => {
    const { store, writes } = setUp();
    store.upsert(version('5'));
    writes.rememberGone('u1');
    expect(writes.view('job-1', store.list())).toEqual([]);
  });

  it('do not bring back a pod whose deletion was heard of before the answer to a write came', () => {
    const { store, writes } = setUp();
    store.upsert(version('5'));
    store.remove(version('8'));
    writes.remember('job-1', version('7'));
    expect(writes.view('job-1', store.list())).toEqual([]);
  });

  it('are forgotten after a minute, so that only the server can vouch for them then', async () => {
    const { writes, clock } = setUp();
    writes.remember('job-1', version('7'));
    await clock.advance(61_000);
    expect(writes.view('job-1', [])).toEqual([]);
    expect(writes.size).toBe(0);
  });
});

describe('GPUs in use', () => {
  it('are those of pods that are bound and have not ended', () => {
    const store = new ObjectStore<CachedPod>();
    const usage = new GpuUsage(store);
    const pod = (resourceVersion: string, overrides: Record<string, unknown>): CachedPod =>
      toCachedPod(aPod(overrides, { resourceVersion }));
    const { spec } = aPod() as unknown as { spec: Record<string, unknown> };
    store.upsert(pod('1', { spec: { ...spec, nodeName: undefined } }));
    expect(usage.snapshot()).toEqual(new Map());
    store.upsert(pod('2', {}));
    expect(usage.snapshot()).toEqual(new Map([['node-a', 2]]));
    store.upsert(pod('3', { status: { phase: 'Succeeded' } }));
    expect(usage.snapshot()).toEqual(new Map());
    store.remove(pod('4', { status: { phase: 'Succeeded' } }));
    expect(usage.snapshot()).toEqual(new Map());
  });
});
