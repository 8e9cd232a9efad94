import type { Attempt } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import fc from 'fast-check';
import { crash, live, staleObservation, storyOf, World, type WorldFault } from '../testing/index.ts';

/** A gang of two pods that trains and has saved step 10. */
function aTrainingWorld(): World {
  const world = new World(aTrainingJob({ spec: { restartPolicy: { maxRestarts: 6, delaySeconds: 5 } } }));
  turn(world, 10);
  world.apply({ kind: 'saveCheckpoint', pick: 10 });
  turn(world, 1);
  return world;
}

function turn(world: World, times: number, ms = 1_000): void {
  for (let round = 0; round < times; round += 1) {
    world.reconcile();
    world.tick(ms);
  }
}

const uidsOf = (world: World): readonly string[] => world.pods.map(({ uid }) => uid);
const newest = (world: World): Attempt | undefined => world.job?.status?.attempts?.at(-1);
const failRank = (step: number, pick = 0): WorldFault => ({ kind: 'failRank', step, pick });

describe('a gang of which a rank fails', () => {
  it('trains on in the same pods, charged once, and finishes in its first epoch', () => {
    const world = aTrainingWorld();
    const pods = uidsOf(world);
    world.apply(failRank(12));
    turn(world, 12);
    expect(uidsOf(world)).toEqual(pods);
    expect(world.job?.status).toMatchObject({ epoch: 1, state: 'Running', restarts: { total: 1, charged: 1 } });
    expect(newest(world)).toMatchObject({
      incarnation: 2,
      resumedFrom: { step: 10 },
      incarnations: [{ lastStep: 12 }],
    });
    for (let round = 0; round < 5; round += 1) {
      world.reconcile();
      world.tick(1_000, true);
    }
    expect(world.job?.status).toMatchObject({ epoch: 1, state: 'Complete' });
    expect(world.violations).toEqual([]);
  });

  it('writes nothing between the record of the failure and that of the ranks that run again', () => {
    const world = aTrainingWorld();
    world.apply(failRank(12));
    const before = world.writes;
    turn(world, 12);
    expect(world.writes - before).toBe(2);
  });

  it('goes on by another leader wherever the first one dies', () => {
    for (const afterWrites of [0, 1, 2]) {
      const world = aTrainingWorld();
      world.apply(failRank(12));
      world.tick(1_000);
      world.apply({ kind: 'crash', afterWrites });
      turn(world, 20);
      expect(world.job?.status).toMatchObject({ epoch: 1, state: 'Running', restarts: { total: 1, charged: 1 } });
      expect([newest(world)?.incarnation, world.violations]).toEqual([2, []]);
    }
  });

  it('begins a new epoch where a launcher does not answer in time; the failure is charged once', () => {
    const world = aTrainingWorld();
    world.apply({ kind: 'loseConnection', ms: 200_000, pick: 1 });
    world.apply(failRank(12));
    turn(world, 40, 5_000);
    expect(world.job?.status).toMatchObject({ epoch: 2, restarts: { total: 2, charged: 1 } });
    expect(world.job?.status?.attempts?.[0]).toMatchObject({ incarnation: 2, reason: 'NotReaped', charged: false });
    expect(world.violations).toEqual([]);
  });

  it('begins a new epoch when its launcher has waited for a leader in vain; the failure is charged once', () => {
    const world = aTrainingWorld();
    world.apply(failRank(12));
    world.apply({ kind: 'loseConnection', ms: 300_000, pick: 0 });
    // That one cannot tell; its pod does when its patience is at its end.
    turn(world, 60, 5_000);
    expect(world.job?.status?.restarts.charged).toBeLessThanOrEqual(1);
    expect(world.violations).toEqual([]);
  });

  it('begins a new epoch where a pod is lost meanwhile', () => {
    const world = aTrainingWorld();
    const pods = uidsOf(world);
    world.apply(failRank(12));
    turn(world, 2);
    world.apply({ kind: 'deletePod', pick: 1 });
    turn(world, 30);
    expect(world.job?.status?.epoch).toBe(2);
    expect(world.pods.filter(({ epoch, uid }) => epoch === 2 && pods.includes(uid))).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  it('does not begin again while its job is suspended, and goes on in another epoch', () => {
    const world = aTrainingWorld();
    world.apply(failRank(12));
    turn(world, 2);
    world.apply({ kind: 'suspend' });
    turn(world, 80);
    expect(world.job?.status?.state).toBe('Suspended');
    world.apply({ kind: 'resume' });
    turn(world, 30);
    expect(world.job?.status).toMatchObject({ epoch: 2, state: 'Running' });
    expect(world.violations).toEqual([]);
  });

  const trouble: fc.Arbitrary<WorldFault> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('failRank' as const), step: fc.nat(200), pick: fc.nat(9) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('loseConnection' as const),
        ms: fc.constantFrom(1_000, 30_000, 130_000),
        pick: fc.nat(9),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('hangPod' as const), pick: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restoreNodes' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('saveCheckpoint' as const), pick: fc.nat(200) }) },
    { weight: 2, arbitrary: crash },
    { weight: 2, arbitrary: staleObservation },
  );

  it('runs one fence at a time, is charged once for each failure, and comes to an end, whatever lags, dies or falls silent', () => {
    let begun = 0;
    const moments = storyOf(trouble, { tickMs: [0, 1_000, 10_000, 70_000], minLength: 10, maxLength: 60 });
    fc.assert(
      fc.property(moments, (story) => {
        const world = aTrainingWorld();
        live(world, story);
        world.apply({ kind: 'restoreNodes' });
        for (let round = 0; round < 60; round += 1) {
          world.reconcile();
          world.tick(30_000, true);
        }
        const { status } = world.job ?? {};
        begun += status?.attempts?.filter(({ incarnation = 1 }) => incarnation > 1).length ?? 0;
        expect(world.violations).toEqual([]);
        expect(status?.restarts.charged ?? 0).toBeLessThanOrEqual(world.harms);
        expect(['Complete', 'Failed']).toContain(status?.state);
      }),
      { numRuns: 30 },
    );
    expect(begun).toBeGreaterThan(10);
  });
});
