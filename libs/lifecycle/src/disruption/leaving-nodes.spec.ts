import { FINALIZER, NODE_LABELS, type TrainingJobSpec } from '@coxswain/api-types';
import { aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { worldSize } from '@coxswain/layout';
import { aNode, World } from '../testing/index.ts';

/** Nodes of two GPUs each, and a job of four. */
function aWorld(nodes: readonly string[], spec: Partial<TrainingJobSpec> = {}): World {
  const job = aTrainingJob({ metadata: { finalizers: [FINALIZER] } });
  const labels = { ...aNode().labels, [NODE_LABELS.gpuType]: 'h100' };
  const asked = aPlannedJobSpec({ gpus: 4, ...spec });
  const world = new World({ ...job, spec: asked }, { gpuCapacity: 2, labels }, nodes);
  world.reportsSteps = true;
  return world;
}

function turn(world: World, times: number, ms = 1_000): void {
  for (let round = 0; round < times; round += 1) {
    world.reconcile();
    world.tick(ms);
  }
}

/** Trains on the first two nodes, and has saved step 10. */
function aTrainingWorld(nodes: readonly string[], spec: Partial<TrainingJobSpec> = {}): World {
  const world = aWorld(nodes, spec);
  turn(world, 20);
  world.apply({ kind: 'saveCheckpoint', pick: 10 });
  turn(world, 2);
  return world;
}

const attempts = ({ job }: World): readonly (readonly [number, ...unknown[]])[] =>
  (job?.status?.attempts ?? []).map(({ layout, outcome, reason, charged }) => [
    worldSize(layout),
    outcome,
    reason,
    charged,
  ]);

describe('a gang of which a node is about to go away', () => {
  it('is asked to save with its whole grace, and goes on elsewhere, uncharged', () => {
    const world = aTrainingWorld(['node-a', 'node-b', 'node-c']);
    const [leaving] = world.pods.map(({ nodeName }) => nodeName);
    world.apply({ kind: 'announce', pick: ['node-a', 'node-b', 'node-c'].indexOf(leaving ?? '') });
    world.reconcile();
    expect(world.job?.status?.attempts?.at(-1)).toMatchObject({ stage: 'Stopping', outcome: 'Moved' });
    world.reconcile();
    expect(world.pods.map(({ deletionGracePeriodSeconds }) => deletionGracePeriodSeconds)).toEqual([60, 60]);
    turn(world, 90);
    expect(attempts(world)).toEqual([
      [4, 'Moved', 'NodeLeaving', false],
      [4, undefined, undefined, undefined],
    ]);
    expect(world.placements.at(-1)?.spec.nodes).not.toContain(leaving);
    expect(world.job?.status).toMatchObject({ state: 'Running', restarts: { total: 0, charged: 0 } });
    expect(world.job?.status?.avoidedNodes).toMatchObject([{ node: leaving, reason: 'Leaving' }]);
    expect(world.violations).toEqual([]);
  });

  it('is an incident with who announced it, which is over where training goes on', () => {
    const world = aTrainingWorld(['node-a', 'node-b', 'node-c']);
    const [leaving] = world.pods.map(({ nodeName }) => nodeName);
    world.apply({ kind: 'announce', pick: ['node-a', 'node-b', 'node-c'].indexOf(leaving ?? '') });
    turn(world, 2);
    const incident = {
      id: '1.1-nodeLeaving',
      kind: 'NodeLeaving',
      node: leaving,
      action: 'Moved',
      gpus: 4,
      evidence: [
        { name: 'rule', value: 'maintenance' },
        { name: 'mark', value: 'taint of the world' },
      ],
    };
    expect(world.job?.status?.incidents).toMatchObject([incident]);
    expect(world.job?.status?.incidents?.[0]?.outcome).toBeUndefined();
    turn(world, 120);
    expect(world.job?.status?.incidents).toMatchObject([
      { ...incident, outcome: 'Recovered', redoneSteps: expect.any(Number), lostMs: expect.any(Number) },
    ]);
  });

  it('says who announced it', () => {
    const world = aTrainingWorld(['node-a', 'node-b', 'node-c']);
    world.apply({ kind: 'announce', pick: 0 });
    turn(world, 2);
    expect(world.job?.status?.summary).toMatch(/node-a, maintenance \(taint of the world\)/);
  });

  it('waits where no other node is free, and goes on with fewer where it may', () => {
    const waiting = aTrainingWorld(['node-a', 'node-b']);
    waiting.apply({ kind: 'announce', pick: 1 });
    turn(waiting, 100, 5_000);
    expect(waiting.job?.status?.state).toBe('Restarting');
    const elastic = aTrainingWorld(['node-a', 'node-b'], { minGpus: 2 });
    elastic.apply({ kind: 'announce', pick: 1 });
    turn(elastic, 100, 5_000);
    expect(elastic.job?.status).toMatchObject({ state: 'Running', plan: { gpus: 2 }, restarts: { charged: 0 } });
  });

  it('stays to the end where it cannot save', () => {
    const world = aTrainingWorld(['node-a', 'node-b', 'node-c']);
    const { checkpoint: _, ...spec } = world.job?.spec ?? aPlannedJobSpec();
    if (world.job !== undefined) world.job = { ...world.job, spec };
    world.apply({ kind: 'announce', pick: 0 });
    turn(world, 20);
    expect(attempts(world)).toEqual([[4, undefined, undefined, undefined]]);
  });

  it('is not moved by what only a cache says', () => {
    const world = aTrainingWorld(['node-a', 'node-b', 'node-c']);
    world.apply({ kind: 'announce', pick: 0 });
    // A pass of which nothing comes has seen it; then it is withdrawn, and the cache is late.
    world.apply({ kind: 'crash', afterWrites: 0 });
    world.reconcile();
    world.apply({ kind: 'restoreNodes' });
    world.apply({ kind: 'staleObservation', looksAgo: 1, of: ['nodes'] });
    turn(world, 5);
    expect(attempts(world)).toEqual([[4, undefined, undefined, undefined]]);
  });
});
