import {
  API_GROUP_VERSION,
  CONTAINERS,
  GPU_RESOURCE,
  LABELS,
  POD_FINALIZER,
  SCHEDULING_GATE,
  type TerminationCause,
} from '@coxswain/api-types';
import { ObjectCache, type KubeObject } from '@coxswain/kube';
import { parseForeignJson } from '@coxswain/safe-text';
import { toCachedNode, type CachedNode } from './cached-node.ts';
import { toCachedPod, toObservedPod, type CachedPod } from './cached-pod.ts';
import { GpuUsage } from './gpu-usage.ts';
import { NodeCensus } from './node-census.ts';

const JOB_AS_OWNER = {
  apiVersion: API_GROUP_VERSION,
  kind: 'TrainingJob',
  name: 'j',
  uid: 'job-1',
  controller: true,
};
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
      ownerReferences: [JOB_AS_OWNER],
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

const unscheduled = (message: string): unknown => ({ type: 'PodScheduled', status: 'False', message });

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
    const stranger = toCachedPod(aPod({}, { labels: { app: 'web' }, ownerReferences: [] }));
    expect(stranger).not.toHaveProperty('gang');
    expect(stranger.metadata).not.toHaveProperty('labels');
  });

  it('does not take a pod for ours that merely bears our label', () => {
    const impostor = toCachedPod(aPod({}, { ownerReferences: [] }));
    expect(toObservedPod(impostor, 'job-1')).toMatchObject({ ours: false, epoch: 0, podIndex: 0 });
  });

  it('takes a pod for ours whatever somebody did to its labels, and keeps it by its owner', () => {
    const name = 'j-job-1-e2-1';
    for (const labels of [{}, { [LABELS.jobUid]: 'job-2', [LABELS.epoch]: '7', [LABELS.podIndex]: '7' }]) {
      const pod = toCachedPod(aPod({}, { name, labels }));
      expect(toObservedPod(pod, 'job-1')).toMatchObject({ ours: true, epoch: 2, podIndex: 1 });
      expect(toObservedPod(pod, 'job-2').ours).toBe(false);
      expect(pod.gang?.jobUid).toBe('job-1');
    }
  });

  it.each([
    ['another kind', { kind: 'ReplicaSet' }],
    ['a kind of the same name of somebody else', { apiVersion: 'kubeflow.org/v1' }],
  ])("does not take a pod for ours whose owner has the job's UID but is %s", (_what, owner) => {
    const named = { name: 'j-job-1-e2-1', labels: {}, ownerReferences: [{ ...JOB_AS_OWNER, ...owner }] };
    const pod = toCachedPod(aPod({}, named), { asGang: true });
    expect(toObservedPod(pod, 'job-1')).toMatchObject({ ours: false, epoch: 0, podIndex: 0 });
  });

  it('is looked after while it carries our finalizer, though nothing else says whose it is', () => {
    const left = toCachedPod(aPod({}, { labels: {}, ownerReferences: [], finalizers: [POD_FINALIZER] }));
    expect(left.gang).toMatchObject({ jobUid: '', finalizerPosition: 0 });
  });

  it('knows why its kubelet did not have it, in safe words', () => {
    const message = 'Allocate failed\u0000 due to no GPU';
    const status = { phase: 'Failed', reason: 'UnexpectedAdmissionError', message };
    const seen = toObservedPod(toCachedPod(aPod({ status })), 'job-1');
    expect(seen).toMatchObject({ phase: 'Failed', running: false, statusReason: 'UnexpectedAdmissionError' });
    expect(seen.statusMessage).toMatch(/^Allocate failed\P{Cc}? due to no GPU$/u);
  });

  describe('whose trainer has ended beside another container', () => {
    const ended = (exitCode: number): object => ({ terminated: { exitCode } });
    const seen = (phase: string, [own, ...others]: readonly object[], more: object = {}) => {
      const statuses = others.map((state, index) => ({ name: `beside-${index}`, state }));
      const containerStatuses = [{ name: CONTAINERS.trainer, state: own }, ...statuses];
      const cached = toCachedPod(aPod({ status: { containerStatuses, phase, ...more } }));
      const { lingers, exit, ...observed } = toObservedPod(cached, 'job-1');
      return { cached, recorded: [observed.phase, lingers, exit?.exitCode] };
    };
    const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
    const waiting = { waiting: { reason: 'CrashLoopBackOff' } };

    it.each<[string, Parameters<typeof seen>, readonly unknown[]]>([
      ['is over when that runs on', ['Running', [ended(0), running]], ['Succeeded', true, 0]],
      ['is over however the trainer ended', ['Running', [ended(1), running]], ['Failed', true, 1]],
      ['is over when that is to be started again', ['Running', [ended(0), waiting]], ['Succeeded', true, 0]],
      ['lingers no more when both have', ['Succeeded', [ended(0), ended(0)]], ['Succeeded', undefined, 0]],
      ['is no failure where that failed', ['Failed', [ended(0), ended(1)]], ['Succeeded', undefined, 0]],
      ['is one where the trainer failed', ['Failed', [ended(2), ended(0)]], ['Failed', undefined, 2]],
      [
        'is one where its kubelet says why',
        ['Failed', [ended(0), ended(137)], { reason: 'Evicted' }],
        ['Failed', undefined, 0],
      ],
      [
        'is not over before its kubelet says so, which may have a reason to tell, where nothing runs any more',
        ['Running', [ended(137)]],
        ['Running', undefined, 137],
      ],
      ['nor with another that has ended too', ['Running', [ended(0), ended(0)]], ['Running', undefined, 0]],
    ])('%s', (_what, asked, recorded) => {
      expect(seen(...asked).recorded).toEqual(recorded);
    });

    it('holds its GPUs all the same', () => {
      expect(seen('Running', [ended(0), running]).cached.terminal).toBe(false);
    });
  });

  it('is not judged by how a sidecar ends', () => {
    const status = {
      ...(trainer({ terminated: { exitCode: 0 } }) as object),
      phase: 'Succeeded',
      initContainerStatuses: [{ name: 'tcpx', state: { terminated: { exitCode: 143 } } }],
    };
    const pod = (restartPolicy?: string): KubeObject => {
      const { spec } = aPod() as unknown as { spec: object };
      return aPod({ spec: { ...spec, initContainers: [{ name: 'tcpx', restartPolicy }] }, status });
    };
    expect(toObservedPod(toCachedPod(pod('Always')), 'job-1').exit?.exitCode).toBe(0);
    expect(toObservedPod(toCachedPod(pod()), 'job-1').exit?.exitCode).toBe(143);
  });

  it.each<[string, string, object, true | undefined]>([
    ['while everything before the trainer is done', 'True', { waiting: { reason: 'PodInitializing' } }, true],
    ['not while something before it runs', 'False', { waiting: { reason: 'PodInitializing' } }, undefined],
    [
      'not where a pull has failed, which has a reason of its own',
      'True',
      { waiting: { reason: 'ErrImagePull' } },
      undefined,
    ],
    ['not when it runs', 'True', { running: { startedAt: '2026-01-01T00:00:00Z' } }, undefined],
  ])('pulls its image %s', (_what, isInitialized, state, want) => {
    const conditions = [{ type: 'Initialized', status: isInitialized }];
    const status = { ...(trainer(state) as object), phase: 'Pending', conditions };
    expect(toObservedPod(toCachedPod(aPod({ status })), 'job-1').pullsImage).toBe(want);
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

  const nasty = 'a\ud83d\u009b\uffff\u202e\u0000z';
  const cleaned = 'a\ufffd\ufffd\ufffd\ufffd\ufffdz';
  const cause: TerminationCause = {
    version: 1,
    kind: 'engineFailed',
    epoch: 2,
    node: 'node-a',
    message: nasty,
    lastLines: ['fine', nasty],
    unreportedCheckpoints: [],
  };
  const trainerState = (state: unknown): unknown =>
    toObservedPod(toCachedPod(aPod({ status: trainer(state) })), 'job-1');

  it.each([
    ['the cause that its launcher left', trainerState({ terminated: { exitCode: 1, message: JSON.stringify(cause) } })],
    ['why it ended', trainerState({ terminated: { exitCode: 1, reason: nasty } })],
    ['why it does not start', trainerState({ waiting: { reason: nasty, message: nasty } })],
    ['status.reason', toObservedPod(toCachedPod(aPod({ status: { phase: 'Failed', reason: nasty } })), 'job-1')],
    ['a condition', toObservedPod(toCachedPod(aPod({ status: { conditions: [unscheduled(nasty)] } })), 'job-1')],
  ])('holds no text that a store or a terminal trips over: %s', (_what, seen) => {
    const json = JSON.stringify(seen);
    expect(json).toContain(cleaned);
    expect(parseForeignJson(json)).toEqual(seen);
  });

  it('cuts a long text between characters', () => {
    const long = `${'x'.repeat(510)}😀😀`;
    const seen = toObservedPod(toCachedPod(aPod({ status: { conditions: [unscheduled(long)] } })), 'job-1');
    expect(seen.schedulingMessage).toBe(`${'x'.repeat(510)}…`);
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
    [
      'takes none behind the taints of a node that does not answer, though pods that run there stay',
      {
        taints: [
          { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
          { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
        ],
      },
      false,
    ],
    ['takes pods that are merely unwelcome', { taints: [{ key: 'x', effect: 'PreferNoSchedule' }] }, true],
  ])('a node %s', (_sentence, spec, want) => {
    expect(toCachedNode(aNode(spec)).facts).toMatchObject({ gpuCapacity: 8, schedulable: want, ready: true });
  });
});

describe('GPUs in use', () => {
  it('are those of pods that are bound and have not ended', () => {
    const cache = new ObjectCache<CachedPod>();
    const usage = new GpuUsage(cache);
    const pod = (resourceVersion: string, overrides: Record<string, unknown>): CachedPod =>
      toCachedPod(aPod(overrides, { resourceVersion }));
    const { spec } = aPod() as unknown as { spec: Record<string, unknown> };
    cache.upsert(pod('1', { spec: { ...spec, nodeName: undefined } }));
    expect(usage.snapshot()).toEqual(new Map());
    cache.upsert(pod('2', {}));
    expect(usage.snapshot()).toEqual(new Map([['node-a', 2]]));
    cache.upsert(pod('3', { status: { phase: 'Succeeded' } }));
    expect(usage.snapshot()).toEqual(new Map());
    cache.remove(pod('4', { status: { phase: 'Succeeded' } }));
    expect(usage.snapshot()).toEqual(new Map());
  });
});

describe('the census of nodes', () => {
  it('counts every node as it comes, changes and goes', () => {
    const cache = new ObjectCache<CachedNode>();
    const census = new NodeCensus(cache);
    const node = (name: string, resourceVersion: string, status: string): CachedNode =>
      toCachedNode({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, uid: name, resourceVersion },
        status: { conditions: [{ type: 'Ready', status }], nodeInfo: { bootID: `boot-of-${name}` } },
      } as unknown as KubeObject);
    cache.upsert(node('a', '1', 'True'));
    cache.upsert(node('b', '2', 'Unknown'));
    expect(census.now).toEqual({ nodes: 2, notReady: 1 });
    cache.upsert(node('a', '3', 'False'));
    expect(census.now).toEqual({ nodes: 2, notReady: 2 });
    cache.remove(node('b', '4', 'Unknown'));
    expect(census.now).toEqual({ nodes: 1, notReady: 1 });
  });

  it.each([
    ['its kubelet’s word', { nodeInfo: { bootID: 'boot-1' } }, 'boot-1'],
    ['the Node itself where its kubelet says nothing', {}, 'uid-1'],
  ])('tells one boot from another by %s', (_sentence, status, want) => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', uid: 'uid-1' }, status };
    expect(toCachedNode(node as unknown as KubeObject).bootId).toBe(want);
  });
});
