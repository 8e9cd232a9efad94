import { ParallelLayout } from '@coxswain/layout';
import { gangNodeRules, withNodeRules } from './flavours.ts';
import { flavourRules, jobUidOf, readWorkload } from './workload-facts.ts';
import {
  changePatch,
  digestOfRequest,
  fewerPodsPatch,
  sliceManifest,
  workloadManifest,
  workloadNames,
} from './workload-manifest.ts';
import { answerPatch, finishPatch, podsReadyPatch, releasePatch } from './workload-patches.ts';

const JOB = { metadata: { name: 'gpt', namespace: 'team', uid: '01234567-89ab' } };
const LAYOUT = ParallelLayout.parse({ tensorParallelDegree: 8, dataParallelDegree: 2 });
const REQUEST = {
  layout: LAYOUT,
  acrossIslands: 'never',
  gpusPerNode: 8,
  demand: { nodeSelector: { pool: 'a' }, tolerations: [], devices: { 'example.com/efa': 4 } },
} as const;
const NOW = new Date('2026-11-29T12:00:00.700Z');

const manifestOf = (gpusPerNode: number): Record<string, unknown> =>
  workloadManifest({
    job: JOB,
    queueName: 'research',
    request: { ...REQUEST, gpusPerNode },
    priority: { value: 100, class: { kind: 'WorkloadPriorityClass', name: 'high' } },
  });

describe('the Workload of a job', () => {
  it('belongs to the job, keeps its quota by the finalizer, and asks for every pod of the gang or none', () => {
    const manifest = manifestOf(8);
    expect(manifest).toMatchObject({
      metadata: {
        name: 'coxswain-gpt-01234567',
        labels: { 'kueue.x-k8s.io/job-uid': JOB.metadata.uid },
        finalizers: ['kueue.x-k8s.io/resource-in-use'],
        ownerReferences: [{ kind: 'TrainingJob', uid: JOB.metadata.uid, controller: true }],
      },
      spec: {
        queueName: 'research',
        priority: 100,
        priorityClassRef: { group: 'kueue.x-k8s.io', kind: 'WorkloadPriorityClass', name: 'high' },
        podSets: [
          {
            name: 'ranks',
            count: 2,
            template: {
              spec: {
                nodeSelector: { pool: 'a' },
                containers: [{ resources: { requests: { 'nvidia.com/gpu': '8', 'example.com/efa': '4' } } }],
              },
            },
          },
        ],
      },
    });
    expect(JSON.stringify(manifest)).not.toContain('minCount');
  });

  it.each([
    ['asks for its standbys too', REQUEST, [{ name: 'ranks', count: 5 }]],
    [
      'asks for as many full pods more where the last pod is smaller',
      { ...REQUEST, gpusPerNode: 6 },
      [
        { name: 'ranks', count: 5 },
        { name: 'last', count: 1 },
      ],
    ],
  ])('%s: N + k pods', (_sentence, request, podSets) => {
    const about = { job: JOB, queueName: 'research', priority: { value: 0 } };
    const manifest = workloadManifest({ ...about, request: { ...request, standbys: 3 } });
    expect(manifest).toMatchObject({ spec: { podSets } });
    expect(digestOfRequest({ ...request, standbys: 3 })).not.toBe(digestOfRequest(request));
  });

  it('for more pods names the smaller one whose place it takes, has the other name, and no finalizer yet', () => {
    const about = { job: JOB, queueName: 'research', request: REQUEST, priority: { value: 0 } };
    const [name, other] = workloadNames(JOB);
    const slice = (of: string): unknown => sliceManifest({ ...about, replaces: { name: of } })['metadata'];
    expect(slice(name)).toMatchObject({
      name: other,
      finalizers: [],
      annotations: {
        'kueue.x-k8s.io/elastic-job': 'true',
        'kueue.x-k8s.io/workload-slice-replacement-for': `team/${name}`,
      },
    });
    expect(slice(other)).toMatchObject({ name });
  });

  it('for fewer pods keeps all but their number, and changes only the version that was read', () => {
    const found = { metadata: { uid: 'w', resourceVersion: '7' }, spec: manifestOf(8)['spec'] };
    const fewer = { ...REQUEST, layout: { ...LAYOUT, dataParallelDegree: 1 } };
    const [set] = (found.spec as { podSets: object[] }).podSets;
    expect(fewerPodsPatch(found, fewer)).toEqual({
      metadata: { uid: 'w', resourceVersion: '7' },
      spec: { podSets: [{ ...set, count: 1 }] },
    });
  });

  it('has a second podSet for a last pod with fewer GPUs', () => {
    const { podSets } = manifestOf(6)['spec'] as { podSets: { name: string; count: number }[] };
    expect(podSets.map(({ name, count }) => [name, count])).toEqual([
      ['ranks', 2],
      ['last', 1],
    ]);
  });

  it('is recognised when it is read, and only what the operator wrote is', () => {
    const found = readWorkload(manifestOf(8));
    expect(found.digest).toBe(digestOfRequest(REQUEST));
    expect(found).toMatchObject({
      ownerUid: JOB.metadata.uid,
      queueName: 'research',
      hasFinalizer: true,
      isActive: true,
    });
    expect(jobUidOf(manifestOf(8))).toBe(JOB.metadata.uid);
    expect(jobUidOf({ metadata: { labels: { 'kueue.x-k8s.io/job-uid': 'x' } } })).toBeUndefined();
  });

  it.each([undefined, null, 7, [], { metadata: 3, spec: [], status: 'x' }, { status: { conditions: [null, 4] } }])(
    'is read without an error from %j',
    (object) => {
      expect(readWorkload(object)).toMatchObject({ name: '', isActive: true, hasFinalizer: false });
    },
  );

  it('changes as a whole, for the version that was read', () => {
    const asks = { job: JOB, queueName: 'other', request: REQUEST, priority: { value: 0 } };
    expect(changePatch({ uid: 'u', resourceVersion: '7' }, asks)).toMatchObject({
      metadata: { uid: 'u', resourceVersion: '7' },
      spec: { queueName: 'other', priority: 0, priorityClassRef: null, podSets: [{ count: 2 }] },
    });
  });
});

/** A Workload that Kueue has evicted for that reason. */
const evicted = (reason: string): object => ({
  metadata: { uid: 'u', resourceVersion: '7', generation: 3 },
  status: {
    admission: { clusterQueue: 'all' },
    conditions: [
      { type: 'QuotaReserved', status: 'True', reason: 'QuotaReserved', message: '', lastTransitionTime: 'a' },
      { type: 'Admitted', status: 'True', reason: 'Admitted', message: '', lastTransitionTime: 'b' },
      { type: 'Evicted', status: 'True', reason, message: 'Preempted by x', lastTransitionTime: 'c' },
    ],
    admissionChecks: [
      { name: 'coxswain', state: 'Pending', message: '', lastTransitionTime: 'd' },
      { name: 'other', state: 'Ready', message: 'theirs', lastTransitionTime: 'e' },
    ],
  },
});

describe('writes to the status of a Workload', () => {
  it.each([
    ['Preempted', 'True'],
    ['NodeFailures', 'True'],
    ['AdmissionCheck', 'False'],
    ['ClusterQueueStopped', 'False'],
    ['Deactivated', 'False'],
  ])('release quota after %s; Requeued is %s', (reason, requeued) => {
    const patch = releasePatch(evicted(reason), NOW) as { metadata: object; status: Record<string, unknown> };
    expect(patch.metadata).toEqual({ uid: 'u', resourceVersion: '7' });
    expect(patch.status['admission']).toBeNull();
    expect(patch.status['conditions']).toEqual([
      expect.objectContaining({ type: 'Evicted', status: 'True', lastTransitionTime: 'c' }),
      expect.objectContaining({ type: 'QuotaReserved', status: 'False', lastTransitionTime: '2026-11-29T12:00:00Z' }),
      expect.objectContaining({ type: 'Admitted', status: 'False', observedGeneration: 3 }),
      expect.objectContaining({ type: 'Requeued', status: requeued, reason, message: 'Preempted by x' }),
    ]);
  });

  it.each<[string, object[], boolean, string]>([
    ['the first start', [], true, 'True/Started'],
    ['a start that is awaited', [{ status: 'False', reason: 'WaitForStart' }], true, 'True/Started'],
    ['a gang that starts again', [{ status: 'True', reason: 'Started' }], false, 'False/WaitForRecovery'],
    ['its start', [{ status: 'False', reason: 'WaitForRecovery' }], true, 'True/Recovered'],
    ['the restart after that', [{ status: 'True', reason: 'Recovered' }], false, 'False/WaitForRecovery'],
  ])('tell Kueue of %s', (_sentence, before, areReady, expected) => {
    const found = {
      metadata: { uid: 'u', resourceVersion: '7' },
      status: { conditions: before.map((one) => ({ type: 'PodsReady', ...one })) },
    };
    const { status } = podsReadyPatch(found, areReady, NOW) as { status: { conditions: Record<string, string>[] } };
    expect(status.conditions.map(({ status: is, reason }) => `${is}/${reason}`)).toEqual([expected]);
  });

  it('let Kueue count the time of the next start anew when they release', () => {
    const ready = { type: 'PodsReady', status: 'True', reason: 'Started' };
    const { status } = releasePatch({ metadata: {}, status: { conditions: [ready] } }, NOW) as {
      status: { conditions: object[] };
    };
    expect(status.conditions[0]).toMatchObject({ type: 'PodsReady', status: 'False', reason: 'WaitForStart' });
  });

  it('finish it', () => {
    const { status } = finishPatch(evicted('Preempted'), 'Succeeded', NOW) as { status: { conditions: object[] } };
    expect(status.conditions.at(-1)).toMatchObject({ type: 'Finished', status: 'True', reason: 'Succeeded' });
    expect(status.conditions).toHaveLength(4);
  });

  it('answer one check and leave the others, and keep its time while its state is the same', () => {
    const answer = (state: string): unknown =>
      answerPatch(evicted('Preempted'), { check: 'coxswain', state, message: 'm' }, NOW)['status'];
    const other = { name: 'other', state: 'Ready', message: 'theirs', lastTransitionTime: 'e' };
    const ours = { name: 'coxswain', message: 'm' };
    expect(answer('Ready')).toEqual({
      admissionChecks: [{ ...ours, state: 'Ready', lastTransitionTime: '2026-11-29T12:00:00Z' }, other],
    });
    expect(answer('Pending')).toEqual({
      admissionChecks: [{ ...ours, state: 'Pending', lastTransitionTime: 'd' }, other],
    });
  });
});

describe('flavours of an admitted Workload', () => {
  const a = flavourRules({ spec: { nodeLabels: { pool: 'a' }, tolerations: [{ key: 'spot', operator: 'Exists' }] } });
  const b = flavourRules({ spec: { nodeLabels: { pool: 'b' } } });
  const flavours = new Map([
    ['a', a],
    ['b', b],
    ['any', flavourRules({ spec: {} })],
  ]);

  it('add their labels and tolerations, and those of AdmissionChecks, to what the pods demand', () => {
    const updates = [{ nodeSelector: { zone: 'z' }, tolerations: [] }];
    const found = gangNodeRules({ flavours: [['a'], ['a', 'any']], updates }, flavours);
    if (found.kind !== 'rules') throw new Error(found.message);
    expect(withNodeRules(REQUEST.demand, found.rules)).toEqual({
      nodeSelector: { pool: 'a', zone: 'z' },
      tolerations: [{ key: 'spot', operator: 'Exists' }],
      devices: { 'example.com/efa': 4 },
    });
  });

  it.each([
    [[['a'], ['b']], 'both pool=a and pool=b'],
    [[['gone']], 'ResourceFlavor gone of the admitted Workload does not exist'],
  ])('%j leave no node, and the message says why', (names, message) => {
    const found = gangNodeRules({ flavours: names, updates: [] }, flavours);
    expect(found).toMatchObject({ kind: 'contradiction', message: expect.stringContaining(message) as string });
  });
});
