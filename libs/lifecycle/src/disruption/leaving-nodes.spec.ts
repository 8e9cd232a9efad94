import { FINALIZER, NODE_LABELS, type TrainingJobSpec } from '@coxswain/api-types';
import { aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { worldSize } from '@coxswain/layout';
import { jobEvents } from '../decide/job-events.ts';
import { aNode, World } from '../testing/index.ts';
import { summaryOfCondition } from '../testing/jobs.ts';

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
    expect(attempts(waiting)).toEqual([[4, undefined, undefined, undefined]]);
    expect(waiting.job?.status).toMatchObject({ state: 'Running' });
    expect(waiting.job?.status?.avoidedNodes).toBeUndefined();
    expect(waiting.job?.status && summaryOfCondition(waiting.job.status, 'Running')).toBe('True/EndHeld');
    expect(waiting.job?.status?.summary).toContain('no other node has room for the gang. It keeps training');
    const elastic = aTrainingWorld(['node-a', 'node-b'], { minGpus: 2 });
    elastic.apply({ kind: 'announce', pick: 1 });
    turn(elastic, 100, 5_000);
    expect(elastic.job?.status).toMatchObject({ state: 'Running', plan: { gpus: 2 }, restarts: { charged: 0 } });
  });

  it('saves early while it waits for room, and is one incident that says why', () => {
    const world = aTrainingWorld(['node-a', 'node-b']);
    turn(world, 30, 60_000);
    world.apply({ kind: 'announce', pick: 1 });
    turn(world, 10);
    const [incident] = world.job?.status?.incidents ?? [];
    expect(incident).toMatchObject({ id: '1.1-nodeLeaving', action: 'Advised', evidence: [{ name: 'held' }, {}, {}] });
    expect(world.job?.status?.attempts?.at(-1)?.earlySave).toMatchObject({ request: 1 });
    const { checkpoints, placements, job } = world;
    const held =
      job === undefined
        ? []
        : jobEvents({ job, checkpoints, placements }).filter(({ key }) => key.endsWith('/EndHeld'));
    expect(held.map(({ message }) => message)).toEqual([
      'Coxswain does not end attempt 1 for this: no other node has room for the gang. It keeps training until one has, until the node goes, or until shortly before the announced time.',
    ]);
  });

  it('moves as soon as another node has room, and that is the same incident', () => {
    const world = aTrainingWorld(['node-a', 'node-b', 'node-c']);
    const [leaving = '', staying = ''] = world.pods.map(({ nodeName }) => nodeName);
    const spare = ['node-a', 'node-b', 'node-c'].find((node) => node !== leaving && node !== staying);
    for (const node of [leaving, spare])
      world.apply({ kind: 'announce', pick: ['node-a', 'node-b', 'node-c'].indexOf(node ?? '') });
    turn(world, 10);
    expect(world.job?.status).toMatchObject({ state: 'Running' });
    world.apply({ kind: 'restoreNodes' });
    world.apply({ kind: 'announce', pick: ['node-a', 'node-b', 'node-c'].indexOf(leaving) });
    turn(world, 120);
    expect(attempts(world).map(([, outcome]) => outcome)).toEqual(['Moved', undefined]);
    expect(world.job?.status?.incidents).toMatchObject([
      { id: '1.1-nodeLeaving', action: 'Moved', outcome: 'Recovered' },
    ]);
  });

  it.each([
    ['stays until shortly before the announced time', 600_000, undefined],
    ['saves and stops shortly before it, though nothing has room', 150_000, 'Moved'],
  ])('%s', (_what, inMs, outcome) => {
    const world = aTrainingWorld(['node-a', 'node-b']);
    const notice = { rule: 'gke-maintenance', mark: 'label', beginsAtMs: world.now.getTime() + inMs };
    for (const node of ['node-a', 'node-b']) world.notices.set(node, notice);
    world.apply({ kind: 'announce', pick: 1 });
    turn(world, 5);
    expect(attempts(world).map(([, ended]) => ended)).toEqual([outcome]);
  });

  it('saves and stops at once if an administrator asks for the node, and waits for room without a charge', () => {
    const world = aTrainingWorld(['node-a', 'node-b']);
    for (const node of ['node-a', 'node-b'])
      world.notices.set(node, { rule: 'maintenance', mark: 'annotation', isRequested: true });
    world.apply({ kind: 'announce', pick: 1 });
    turn(world, 90);
    expect(attempts(world)).toEqual([[4, 'Moved', 'NodeLeaving', false]]);
    expect(world.job?.status).toMatchObject({ state: 'Restarting', restarts: { charged: 0 } });
    expect(world.pods).toEqual([]);
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
