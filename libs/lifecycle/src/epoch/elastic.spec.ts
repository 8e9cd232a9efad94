import { FINALIZER, type JobPlan, NODE_LABELS, type TrainingJob } from '@coxswain/api-types';
import { aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import { factsOf } from '../observation/facts.ts';
import { recordOf } from '../record/job-record.ts';
import {
  aCapacity,
  aNode,
  crash,
  live,
  observe,
  settleWithAnswers,
  SharedCluster,
  staleObservation,
  storyOf,
  World,
  type WorldFault,
} from '../testing/index.ts';

import type { JobQuota } from '@coxswain/scheduling';
import { elasticPlan, gpusToPlanFor } from './elastic.ts';

/** Two nodes of two GPUs, and a job that asks for four and goes on with two. */
function aWorld(spec: Parameters<typeof aPlannedJobSpec>[0] = {}, gpuCapacity = 2): World {
  const job = aTrainingJob({ metadata: { finalizers: [FINALIZER] } });
  const asked = aPlannedJobSpec({ gpus: 4, minGpus: 2, ...spec });
  return new World({ ...job, spec: asked }, { gpuCapacity, labels }, ['node-a', 'node-b']);
}

const labels = { ...aNode().labels, [NODE_LABELS.gpuType]: 'h100' };

function turn(world: World, times: number, ms = 1_000): void {
  for (let round = 0; round < times; round += 1) {
    world.reconcile();
    world.tick(ms);
  }
}

/** Trains on both nodes, and has saved step 10. */
function aTrainingWorld(minGpus = 2): World {
  const world = aWorld({ minGpus });
  world.reportsSteps = true;
  turn(world, 20);
  world.apply({ kind: 'saveCheckpoint', pick: 10 });
  turn(world, 2);
  return world;
}

/** One of the two nodes is gone, and the wait for it over. */
function aShrunkenWorld(): World {
  const world = aTrainingWorld();
  world.apply({ kind: 'loseNode', pick: 1 });
  turn(world, 80, 5_000);
  return world;
}

const gangs = ({ job }: World): readonly (readonly [number, string | undefined])[] =>
  (job?.status?.attempts ?? []).map(({ layout, outcome, reason }) => [worldSize(layout), reason ?? outcome]);

describe('a job that goes on with fewer GPUs', () => {
  it('is planned for all of them at first, and waits a while before it asks for fewer', () => {
    const world = aWorld();
    world.apply({ kind: 'loseNode', pick: 1 });
    turn(world, 20, 5_000);
    expect(world.job?.status).toMatchObject({ state: 'Queued', epoch: 0, plan: { gpus: 4 } });
    turn(world, 20, 5_000);
    expect(world.job?.status).toMatchObject({ state: 'Running', epoch: 1, plan: { gpus: 2, forEpoch: 1 } });
    expect(world.job?.status?.summary).toMatch(/fewer than the 4 it asks for/);
  });

  it('goes on from its checkpoint on what is left when a node is lost, uncharged', () => {
    const world = aShrunkenWorld();
    expect(gangs(world)).toEqual([
      [4, 'NodeLost'],
      [2, undefined],
    ]);
    expect(world.job?.status).toMatchObject({ state: 'Running', restarts: { charged: 0 } });
    expect(world.job?.status?.attempts?.at(-1)).toMatchObject({ resumedFrom: { step: 10 } });
    expect(world.violations).toEqual([]);
  });

  it('takes all of them again with a checkpoint, once they have been free for a while', () => {
    const world = aShrunkenWorld();
    world.apply({ kind: 'restoreNodes' });
    // The lost node is avoided for an hour, then its GPUs have to be free for ten minutes.
    turn(world, 90, 60_000);
    expect(gangs(world)).toHaveLength(2);
    world.apply({ kind: 'saveCheckpoint', pick: 4_000 });
    turn(world, 40, 5_000);
    expect(gangs(world)).toEqual([
      [4, 'NodeLost'],
      [2, 'GpusFree'],
      [4, undefined],
    ]);
    expect(world.job?.status).toMatchObject({ state: 'Running', plan: { gpus: 4 }, restarts: { charged: 0 } });
    expect(world.job?.status?.plan?.forEpoch).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  it.each([
    ['has not saved since', (world: World) => turn(world, 90, 60_000)],
    [
      'has saved before they were free for long enough',
      (world: World) => {
        turn(world, 61, 60_000);
        world.apply({ kind: 'saveCheckpoint', pick: 4_000 });
        turn(world, 20, 5_000);
      },
    ],
  ] as const)('keeps its gang as long as it %s', (_why, pass) => {
    const world = aShrunkenWorld();
    world.apply({ kind: 'restoreNodes' });
    pass(world);
    expect(gangs(world)).toHaveLength(2);
  });

  it('waits like any other job where it does not say that fewer will do', () => {
    const world = aTrainingWorld(4);
    world.apply({ kind: 'loseNode', pick: 1 });
    turn(world, 100, 5_000);
    expect(gangs(world)).toEqual([[4, 'NodeLost']]);
    expect(world.job?.status).toMatchObject({ plan: { gpus: 4 } });
  });

  it('begins on fewer where all would be free, and not on enough nodes', () => {
    const world = aWorld({ resources: { gpusPerNode: 2 } }, 4);
    world.apply({ kind: 'loseNode', pick: 1 });
    turn(world, 60, 5_000);
    expect(gangs(world)).toEqual([[2, undefined]]);
  });

  it('leaves what is free to a job that waits', () => {
    let nowMs = 0;
    const cluster = new SharedCluster({
      nodes: ['node-a', 'node-b'],
      nodeFacts: { gpuCapacity: 4, labels },
      monotonicMs: () => nowMs,
    });
    const metadata = { finalizers: [FINALIZER] };
    const member = (name: string, spec: TrainingJob['spec']): World =>
      new World({ ...aTrainingJob({ metadata: { ...metadata, name, uid: name } }), spec }, {}, [], cluster);
    const small = member('small', aPlannedJobSpec({ gpus: 4, minGpus: 2, resources: { gpusPerNode: 2 } }));
    const pass = (worlds: readonly World[], times: number, ms: number): void => {
      for (let round = 0; round < times; round += 1) {
        for (const world of worlds) world.reconcile();
        for (const world of worlds) world.tick(ms);
        nowMs += ms;
      }
    };
    small.apply({ kind: 'loseNode', pick: 1 });
    pass([small], 60, 5_000);
    const large = member('large', aPlannedJobSpec({ gpus: 16 }));
    small.apply({ kind: 'restoreNodes' });
    pass([small, large], 30, 60_000);
    small.apply({ kind: 'saveCheckpoint', pick: 40 });
    pass([small, large], 10, 5_000);
    expect([gangs(small), large.job?.status?.state]).toEqual([[[2, undefined]], 'Queued']);
    large.apply({ kind: 'cancel' });
    pass([small, large], 30, 60_000);
    small.apply({ kind: 'saveCheckpoint', pick: 80 });
    pass([small, large], 20, 5_000);
    expect(gangs(small)).toEqual([
      [2, 'GpusFree'],
      [4, undefined],
    ]);
  });

  it('writes nothing once it is settled on fewer', () => {
    const world = aShrunkenWorld();
    world.reportsSteps = false;
    turn(world, 5, 60_000);
    const before = world.writes;
    turn(world, 10, 60_000);
    expect(world.writes).toBe(before);
  });

  const faults: fc.Arbitrary<WorldFault> = fc.oneof(
    fc.record({ kind: fc.constantFrom('loseNode' as const, 'saveCheckpoint' as const), pick: fc.nat(200) }),
    fc.record({ kind: fc.constantFrom('restoreNodes' as const, 'plannerFails' as const) }),
    staleObservation,
    crash,
  );

  it('comes to rest and breaks no rule, whatever nodes come and go', () => {
    fc.assert(
      fc.property(storyOf(faults, { tickMs: [100, 5_000, 130_000, 700_000], maxLength: 25 }), (story) => {
        const world = aWorld();
        live(world, story, () => {
          const sizes = gangs(world).map(([size]) => size);
          expect(sizes.every((size) => size === 4 || size === 2)).toBe(true);
        });
        settleWithAnswers(world, 130_000);
        expect(world.violations).toEqual([]);
        expect(world.job?.status?.state).toBe('Complete');
      }),
      { numRuns: 60 },
    );
  });
});

describe('for how many GPUs a job is planned that may run on fewer', () => {
  const plan = (changes: Partial<JobPlan> = {}): JobPlan => ({
    chosenBy: 'Planner',
    gpus: 12,
    fabric: '12 h100',
    layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 6 }),
    plannerVersion: '1',
    plannedAt: '2026-01-01T00:00:00Z',
    ...changes,
  });
  const { layout: _none, ...refused } = plan({ refusal: 'none fits' });

  /** Its plan has had no room for long, and so many GPUs are free. */
  function planned(record: JobPlan, free: number, minGpus = 2, quota?: JobQuota): number | undefined {
    const spec = aPlannedJobSpec({
      gpus: 12,
      minGpus,
      training: { ...aPlannedJobSpec().training, steps: 40, globalBatchSize: 24 },
    });
    const nodes = Array.from({ length: free }, (_, index) => aNode({ name: `node-${index}`, gpuCapacity: 1 }));
    const job = { ...aTrainingJob(), spec, status: { epoch: 0, restarts: { total: 0, charged: 0 }, plan: record } };
    const elapsedMs = new Map([[`e0/short-of-${record.gpus}-gpus`, 120_000]]);
    const capacity = (): ReturnType<typeof aCapacity> => aCapacity(nodes);
    const facts = factsOf(observe({ job, capacity, elapsedMs, ...(quota === undefined ? {} : { quota }) }));
    return gpusToPlanFor(recordOf(job), facts, record);
  }

  it.each<[string, JobPlan, { readonly free: number; readonly minGpus?: number; readonly expected: number }]>([
    ['the most copies of its model that are free', plan(), { free: 11, expected: 8 }],
    [
      'none that the batch cannot be divided by',
      plan({ layout: aLayout({ dataParallelDegree: 12 }) }),
      { free: 11, expected: 8 },
    ],
    [
      'half of them, where the layout has one copy',
      plan({ layout: aLayout({ tensorParallelDegree: 12 }) }),
      { free: 11, expected: 6 },
    ],
    ['half of them, where no layout was found', refused, { free: 11, expected: 6 }],
    ['fewer than were refused since', plan({ noLayoutFor: 8 }), { free: 11, expected: 6 }],
    ['what stands, where fewer than the least are free', plan(), { free: 7, minGpus: 8, expected: 12 }],
    ['what stands, where all fewer ones were refused', plan({ noLayoutFor: 2 }), { free: 11, expected: 12 }],
  ])('is %s', (_what, record, { free, minGpus, expected }) => {
    expect(planned(record, free, minGpus)).toBe(expected);
  });

  const sizes = [12, 9, 4].map((gpus) => ({ gpus, layout: '', predictedStepMs: 1 }));
  it('is the largest size for which the planner found a layout', () => {
    expect(planned(plan({ sizes }), 11)).toBe(9);
    expect(planned(plan({ sizes }), 8)).toBe(4);
    expect(planned(plan({ sizes }), 3)).toBe(3);
  });

  const waits = (withBorrowed?: number): JobQuota => ({
    kind: 'waiting',
    message: '',
    ...(withBorrowed === undefined ? {} : { free: { own: 0, withBorrowed } }),
  });
  it.each<[string, JobQuota, number]>([
    ['is no more than the quota that is free in its queue', waits(7), 6],
    ['is no more than the GPUs that are free on nodes', waits(100), 8],
    ['stays while it is not known what is free', waits(), 12],
  ])('%s, for a job that waits with Kueue', (_what, quota, expected) => {
    expect(planned(plan(), 11, 2, quota)).toBe(expected);
  });

  it('stays for a job that waits with Kueue although quota and nodes are free for it', () => {
    expect(planned(plan(), 12, 2, waits(12))).toBe(12);
    expect(planned(plan({ gpus: 8, forEpoch: 2 }), 12, 2, waits(9))).toBe(8);
  });

  it.each<[string, JobQuota['kind'] | undefined, number]>([
    ['asks for all of them if it has no queue', undefined, 12],
    ['asks for all of them if it holds no quota', 'waiting', 12],
    ['keeps its size if it holds quota for that', 'admitted', 6],
  ])('a restart with all GPUs free %s', (_what, kind, expected) => {
    const rules = { nodeSelector: {}, tolerations: [] };
    const quota = kind === 'admitted' ? { kind, rules, gpus: 6 } : kind === undefined ? undefined : waits(12);
    expect(planned(plan({ gpus: 6, forEpoch: 0 }), 12, 12, quota)).toBe(expected);
  });

  it.each([
    ['is the answer for all of them', { gpus: 12 }, {}],
    ['is the answer for fewer, from the next epoch on', { gpus: 8 }, { gpus: 8, forEpoch: 4 }],
    ['stands where fewer are refused, and says so', { gpus: 6, refusal: 'none fits' }, { gpus: 12, noLayoutFor: 6 }],
  ] as const)('%s', (_what, answer, expected) => {
    const record = recordOf({ ...aTrainingJob(), status: { epoch: 3, restarts: { total: 0, charged: 0 } } });
    const kept = elasticPlan(record, { before: plan(), answer: plan(answer), most: 12 });
    expect(kept).toEqual(plan({ ...expected }));
  });

  it('stands where all of them are refused again, and is asked again after the next epoch', () => {
    const record = recordOf({ ...aTrainingJob(), status: { epoch: 3, restarts: { total: 0, charged: 0 } } });
    const before = plan({ gpus: 8, forEpoch: 2 });
    expect(elasticPlan(record, { before, answer: { ...refused, gpus: 12 }, most: 12 })).toEqual({
      ...before,
      forEpoch: 4,
    });
  });
});
