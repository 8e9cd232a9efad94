import { aTrainingJob } from '@coxswain/api-types/testing';
import fc from 'fast-check';
import { crash, live, staleObservation, storyOf, World, type WorldFault } from '../testing/index.ts';

const pick = fc.nat(9);
const lostAnswer: fc.Arbitrary<WorldFault> = fc.record({
  kind: fc.constant('loseAnswer' as const),
  afterWrites: fc.nat(3),
  isDone: fc.boolean(),
});
const savedUnheard: fc.Arbitrary<WorldFault> = fc.record({
  kind: fc.constant('saveUnheard' as const),
  step: fc.integer({ min: 1, max: 90 }),
});
const skew: fc.Arbitrary<WorldFault> = fc.record({
  kind: fc.constant('skewClock' as const),
  ms: fc.constantFrom(-3_600_000, -40_000, 0, 40_000, 3_600_000),
});

/** What harms no gang, from its first look to its end. */
const harmless: fc.Arbitrary<WorldFault> = fc.oneof(
  { weight: 3, arbitrary: lostAnswer },
  { weight: 3, arbitrary: staleObservation },
  { weight: 2, arbitrary: crash },
  { weight: 1, arbitrary: skew },
  { weight: 1, arbitrary: savedUnheard },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('saveCheckpoint' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('deletePlacement' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('refuseCheckpoints' as const, 'acceptCheckpoints' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('loseConnection' as const), ms: fc.constantFrom(1_000, 60_000), pick }),
  },
);

/** Whatever others do to a gang, beside what may befall it. */
const hostile: fc.Arbitrary<WorldFault> = fc.oneof(
  { weight: 9, arbitrary: harmless },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('takeName' as const, 'turnAway' as const), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('refusePods' as const), fromIndex: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('acceptPods' as const, 'restoreNodes' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'deletePod' as const,
        'evict' as const,
        'loseNode' as const,
        'silenceKubelet' as const,
        'announce' as const,
        'hangPod' as const,
      ),
      pick,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('exit' as const), code: fc.constantFrom(1, 70, 71, 72, 75, 137), pick }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('failRank' as const), step: fc.nat(100), pick }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('suspend' as const, 'resume' as const, 'cancel' as const, 'delete' as const),
    }),
  },
);

const story = (fault: fc.Arbitrary<WorldFault>) =>
  storyOf(fault, { tickMs: [0, 1_000, 20_000, 90_000], maxFaults: 3, maxLength: 60 });
/** Some engines tell their steps and some do not. */
const tellsSteps = fc.boolean();

function aWorld(reportsSteps: boolean): World {
  const world = new World(aTrainingJob());
  world.reportsSteps = reportsSteps;
  return world;
}

const MAX_OBSERVATIONS = 800;
/** Longer than any refused write is waited with. */
const IDLE_MS = 700_000;

/** Nobody does anything to the job any more, and its engine finishes. */
function settle(world: World): void {
  for (const kind of ['restoreNodes', 'acceptPods', 'acceptCheckpoints'] as const) world.apply({ kind });
  for (let quiet = 0, rounds = 0; quiet < 3; rounds++) {
    expect(rounds).toBeLessThan(MAX_OBSERVATIONS);
    const wrote = world.reconcile();
    world.tick(wrote ? 100 : IDLE_MS, true);
    quiet = wrote ? 0 : quiet + 1;
    expectOneEpoch(world);
  }
}

function expectOneEpoch(world: World): void {
  expect(new Set(world.computingPods().map(({ epoch }) => epoch)).size).toBeLessThanOrEqual(1);
}

describe('a cluster in which answers are lost', () => {
  it('costs no gang an attempt, from its first look to its end', () => {
    fc.assert(
      fc.property(tellsSteps, story(harmless), (reportsSteps, moments) => {
        const world = aWorld(reportsSteps);
        live(world, moments, expectOneEpoch);
        settle(world);
        expect(world.violations).toEqual([]);
        expect(world.job?.status).toMatchObject({ state: 'Complete', epoch: 1, restarts: { total: 0, charged: 0 } });
      }),
      { numRuns: 60 },
    );
  });

  it('and in which strangers take names, quotas refuse pods and nodes turn them away brings every job to an end, and to rest', () => {
    fc.assert(
      fc.property(tellsSteps, story(hostile), (reportsSteps, moments) => {
        const world = aWorld(reportsSteps);
        live(world, moments, expectOneEpoch);
        world.apply({ kind: 'resume' });
        settle(world);
        expect(world.violations).toEqual([]);
        expect(['Complete', 'Failed', 'Cancelled', undefined]).toContain(world.job?.status?.state);
        expect(world.job?.status?.restarts.charged ?? 0).toBeLessThanOrEqual(world.harms);
        for (let round = 0; round < 5; round++) {
          world.tick(60_000, true);
          expect(world.reconcile()).toBe(false);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('a Placement that somebody deletes while its pods are made', () => {
  /** Another leader recorded it than the one that saw it go. */
  const before: readonly WorldFault[] = [
    { kind: 'crash', afterWrites: 2 },
    { kind: 'crash', afterWrites: 2 },
    { kind: 'loseAnswer', afterWrites: 0, isDone: false },
  ];
  it.each<[string, WorldFault | undefined, number]>([
    ['is made again by a later leader than the one that recorded it', undefined, 1],
    ['is placed anew at once where a node of it is not ready', { kind: 'loseNode', pick: 0 }, 2],
    ['is placed anew at once where a node of it is gone', { kind: 'loseNode', pick: 3 }, 2],
  ])('%s', (_sentence, fault, epoch) => {
    const world = aWorld(false);
    const deleted: WorldFault = { kind: 'deletePlacement' };
    const moments = [...before.map((one) => [one]), fault === undefined ? [deleted] : [deleted, fault]];
    live(
      world,
      moments.map((faults) => ({ faults, tickMs: 0 })),
    );
    for (let seconds = 0; seconds < 20; seconds += 1) {
      world.tick(1_000);
      world.reconcile();
    }
    const lost = { reason: 'PlacementLost', charged: false };
    const attempts = fault === undefined ? [{}] : [lost, {}];
    expect(world.job?.status).toMatchObject({ state: 'Running', epoch, attempts });
    expect(world.violations).toEqual([]);
  });
});

describe('a Checkpoint that somebody deletes', () => {
  it('is not made again of what a pod told before the end of its attempt, though no cache shows that end', () => {
    const world = aWorld(false);
    const moments: readonly (readonly [WorldFault | undefined, number])[] = [
      [undefined, 0],
      [{ kind: 'deletePod', pick: 0 }, 0],
      [{ kind: 'saveUnheard', step: 1 }, 1_000],
      [undefined, 0],
    ];
    live(
      world,
      moments.map(([fault, tickMs]) => ({ faults: fault === undefined ? [] : [fault], tickMs })),
    );
    expect(world.checkpoints.map(({ spec }) => spec.step)).toEqual([1]);
    world.checkpoints = [];
    world.apply({ kind: 'staleObservation', looksAgo: 1, of: ['job', 'pods', 'checkpoints', 'nodes'] });
    world.reconcile();
    expect(world.checkpoints).toEqual([]);
    expect(world.violations).toEqual([]);
  });
});

describe('a node that ends every pod before a container has run', () => {
  it('costs a gang one attempt, uncharged, where another node is free', () => {
    const world = aWorld(false);
    world.apply({ kind: 'turnAway', pick: 0 });
    for (let round = 0; round < 20; round += 1) {
      world.reconcile();
      world.tick(10_000);
    }
    expect(world.job?.status).toMatchObject({
      state: 'Running',
      epoch: 2,
      restarts: { total: 1, charged: 0 },
      attempts: [{ reason: 'TurnedAway' }, {}],
      avoidedNodes: [{ node: 'node-a', reason: 'TurnedAway' }],
    });
  });
});
