import { aTrainingJob } from '@coxswain/api-types/testing';
import fc from 'fast-check';
import { crash, live, staleObservation, storyOf, World, type WorldFault } from '../testing/index.ts';

/** What befalls a cluster without harming any gang: kubelets, watches, processes and clocks of others. */
const harmless: fc.Arbitrary<WorldFault> = fc.oneof(
  fc.record({ kind: fc.constant('silenceKubelet' as const), pick: fc.nat(9) }),
  fc.record({ kind: fc.constant('restoreNodes' as const) }),
  fc.record({
    kind: fc.constant('skewClock' as const),
    ms: fc.constantFrom(-3_600_000, -40_000, 0, 40_000, 3_600_000),
  }),
  staleObservation,
  crash,
);
const moments = storyOf(harmless, { tickMs: [0, 1_000, 20_000, 90_000, 600_000], maxFaults: 3, maxLength: 60 });

function aRunningWorld(...made: ConstructorParameters<typeof World>): World {
  const world = new World(...made);
  for (let round = 0; round < 10; round += 1) {
    world.reconcile();
    world.tick(1_000);
  }
  expect(world.job?.status?.state).toBe('Running');
  return world;
}

describe('a healthy gang', () => {
  it('is left alone whatever becomes of kubelets, watches, operators and clocks', () => {
    fc.assert(
      fc.property(moments, (story) => {
        const world = aRunningWorld(aTrainingJob());
        const pods = world.pods.map(({ uid }) => uid);
        live(world, story);
        expect(world.job?.status).toMatchObject({ epoch: 1, restarts: { total: 0 } });
        expect(world.pods.map(({ uid, deletionTimestamp }) => [uid, deletionTimestamp])).toEqual(
          pods.map((uid) => [uid, undefined]),
        );
      }),
      { numRuns: 40 },
    );
  });

  it('is not even written about more than twice for each turn of a flapping node', () => {
    const world = aRunningWorld(aTrainingJob());
    const before = world.writes;
    for (let flap = 0; flap < 30; flap += 1) {
      world.apply({ kind: 'silenceKubelet', pick: 0 });
      for (let round = 0; round < 5; round += 1) {
        world.reconcile();
        world.tick(30_000);
      }
      world.apply({ kind: 'restoreNodes' });
      world.reconcile();
    }
    expect(world.writes - before).toBeLessThanOrEqual(60);
    expect(world.job?.status).toMatchObject({ epoch: 1, restarts: { total: 0 } });
  });
});

describe('a rack', () => {
  const nodes = Array.from({ length: 8 }, (_, index) => `node-${index}`);
  const job = aTrainingJob({ spec: { layout: { tensorParallelDegree: 2, dataParallelDegree: 4 } } });
  const losses = fc.array(
    fc.record({
      slots: fc.subarray([0, 1, 2, 3], { minLength: 1 }),
      tickMs: fc.constantFrom(0, 1_000, 10_000, 30_000),
    }),
    { minLength: 1, maxLength: 3 },
  );
  const skews = fc.constantFrom(-3_600_000, 0, 3_600_000);

  it('that is lost within a minute, in whatever order, is one restart, uncharged, and on other nodes', () => {
    fc.assert(
      fc.property(losses, skews, (story, ms) => {
        const world = aRunningWorld(job, {}, nodes);
        const rack = world.pods.map(({ nodeName = '' }) => nodeName);
        expect(rack).toHaveLength(4);
        world.apply({ kind: 'skewClock', ms });
        const lost = new Set<string>();
        for (const { slots, tickMs } of story) {
          const fallen = slots.map((slot) => rack[slot] ?? '');
          for (const node of fallen) lost.add(node);
          world.apply({ kind: 'loseRack', nodes: fallen });
          world.reconcile();
          world.tick(tickMs);
        }
        for (let round = 0; round < 25; round += 1) {
          world.reconcile();
          world.tick(10_000);
        }
        expect(world.job?.status).toMatchObject({ state: 'Running', epoch: 2, restarts: { total: 1, charged: 0 } });
        expect(world.computingPods().filter(({ nodeName = '' }) => lost.has(nodeName))).toEqual([]);
        const avoided = world.job?.status?.avoidedNodes?.map(({ node }) => node) ?? [];
        expect(new Set(avoided)).toEqual(lost);
      }),
      { numRuns: 15 },
    );
  });
});

describe('a pod that hangs in the kernel', () => {
  it('holds its GPUs and nothing else: the next epoch runs on other nodes', () => {
    const world = aRunningWorld(aTrainingJob());
    world.apply({ kind: 'hangPod', pick: 0 });
    const hanging = world.pods[0]?.nodeName;
    world.apply({ kind: 'exit', code: 1, pick: 0 });
    for (let round = 0; round < 40; round += 1) {
      world.reconcile();
      world.tick(10_000);
    }
    expect(world.job?.status).toMatchObject({
      state: 'Running',
      epoch: 2,
      restarts: { total: 1 },
      avoidedNodes: [{ node: hanging, reason: 'NotStopped' }],
    });
    expect(world.computingPods().map(({ nodeName }) => nodeName)).not.toContain(hanging);
    expect(world.pods.filter(({ epoch }) => epoch === 1).map(({ nodeName }) => nodeName)).toContain(hanging);
  });
});
