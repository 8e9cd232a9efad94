import { aTrainingJob } from '@coxswain/api-types/testing';
import type { NodeFacts } from '@coxswain/fabric';
import { ClusterScheduler } from './cluster-scheduler.ts';
import { aSchedulerView, thePlacementOf } from './testing/index.ts';

/** A job and a cluster of two nodes that it fills, whose clock stands until it is set. */
function aCluster(nodeFacts: Partial<NodeFacts> = {}) {
  const clock = { ms: 0 };
  const job = aTrainingJob();
  const scheduler = new ClusterScheduler(aSchedulerView({ job, nodeFacts, monotonicMs: () => clock.ms }));
  const spec = thePlacementOf(job);
  const held = (): number =>
    [...scheduler.capacityFor('another').usedGpus.values()].reduce((sum, gpus) => sum + gpus, 0);
  return { clock, scheduler, spec, held };
}

it.each<[string, 'before' | 'after', number]>([
  ['what becomes free during a search that finds nothing is offered again', 'before', 1],
  ['what was free when a search began that finds nothing is not', 'after', 0],
])('%s', (_sentence, read, want) => {
  const job = aTrainingJob();
  const nodes = new Map([['node-a', { schedulable: false }]]);
  const view = aSchedulerView({ job, nodeFacts: {}, monotonicMs: () => 0 });
  let offers = 0;
  const scheduler = new ClusterScheduler({
    ...view,
    node: (name) => ({ ...view.node(name), ...nodes.get(name) }) as NodeFacts,
    promisesChanged: () => (offers += 1),
  });
  const before = scheduler.capacityFor(job.metadata.uid);
  nodes.clear();
  scheduler.nodeChanged('node-a');
  const { rises } = read === 'before' ? before : scheduler.capacityFor(job.metadata.uid);
  const { layout } = thePlacementOf(job);
  scheduler.recordRefusal({ request: { layout }, refusal: { kind: 'waiting', message: 'No room.' }, rises });
  expect(offers).toBe(want);
});

describe('what is reserved', () => {
  it('is told with its time, and given up when it is decided against', () => {
    const { clock, scheduler, spec, held } = aCluster();
    clock.ms = 7;
    expect(scheduler.reserve(spec, scheduler.capacityFor(spec.jobUid).version)).toBe(true);
    expect(scheduler.reservations()).toEqual([{ placement: spec, sinceMs: 7 }]);
    expect(held()).toBe(4);
    scheduler.release(spec.jobUid);
    expect([scheduler.reservations(), held()]).toEqual([[], 0]);
  });

  it('is kept once it was created, though the status that records it is not seen, for five minutes', () => {
    const { clock, scheduler, spec, held } = aCluster();
    scheduler.reserve(spec, scheduler.capacityFor(spec.jobUid).version);
    scheduler.markCreated(spec.jobUid);
    scheduler.release(spec.jobUid);
    expect([held(), scheduler.reservedFor(spec.jobUid)]).toEqual([4, spec]);
    clock.ms = 299_999;
    expect(held()).toBe(4);
    clock.ms = 300_000;
    expect([held(), scheduler.reservedFor(spec.jobUid)]).toEqual([0, undefined]);
  });

  it('is forgotten with its job, and is not given to a job that is gone', () => {
    const { scheduler, spec, held } = aCluster();
    const { version } = scheduler.capacityFor(spec.jobUid);
    scheduler.reserve(spec, version);
    scheduler.markCreated(spec.jobUid);
    scheduler.forget(spec.jobUid);
    expect([held(), scheduler.reserve({ ...spec, jobUid: 'gone' }, version)]).toEqual([0, false]);
  });

  it.each<[string, Partial<NodeFacts>, boolean]>([
    ['is held on nodes that take pods', {}, true],
    ['is not held on nodes that are cordoned', { schedulable: false }, false],
    ['is not held on nodes with fewer GPUs than it takes', { gpuCapacity: 1 }, false],
    ['is not held on nodes that have no GPUs any more', { gpuCapacity: 0 }, false],
  ])('%s', (_sentence, nodeFacts, want) => {
    const { scheduler, spec } = aCluster(nodeFacts);
    expect([scheduler.isReservable(spec), scheduler.reserve(spec, Infinity)]).toEqual([want, want]);
  });
});

it.each<[string, Partial<NodeFacts>, readonly number[] | undefined, readonly string[]]>([
  ['a placement with room has no taken nodes', {}, undefined, []],
  ['taken nodes of a placement are named', { gpuCapacity: 1 }, undefined, ['node-a', 'node-b']],
  ['taken nodes are named of the pods that are asked for', { gpuCapacity: 1 }, [1, 7], ['node-b']],
])('%s', (_sentence, nodeFacts, podIndices, want) => {
  const { scheduler, spec } = aCluster(nodeFacts);
  expect(scheduler.takenNodes(spec, podIndices)).toEqual(want);
});

describe('capacity for a job with a runtime', () => {
  const nothing = { nodeSelector: {}, tolerations: [], devices: {} };

  it('is that of the cluster, worked out once, where it asks nothing of nodes', () => {
    const { scheduler, spec } = aCluster();
    expect(scheduler.capacityFor(spec.jobUid, nothing).fabric).toBe(scheduler.capacityFor(spec.jobUid).fabric);
  });

  it('is refused no longer than what it tolerates is taken', () => {
    const taints = [{ key: 'sku', value: 'gpu', effect: 'NoSchedule' }];
    const { scheduler, spec, clock } = aCluster({ schedulable: false, taints });
    const demand = { ...nothing, tolerations: [{ key: 'sku', operator: 'Exists' }] };
    const refusal = { kind: 'waiting', message: 'Needs 4 GPUs.' } as const;
    const requests = [
      { layout: spec.layout, demand },
      { layout: spec.layout, demand: nothing },
    ];
    for (const request of requests) scheduler.recordRefusal({ request, refusal });
    clock.ms = 10_000;
    const standing = requests.map((request) => scheduler.standingRefusal(spec.jobUid, request));
    clock.ms = 20_000;
    expect([...standing, ...requests.map((request) => scheduler.standingRefusal(spec.jobUid, request))]).toEqual([
      refusal,
      refusal,
      undefined,
      refusal,
    ]);
    expect(scheduler.capacityFor(spec.jobUid, demand).fabric.nodes.map(({ usable }) => usable)).toEqual([true, true]);
  });
});
