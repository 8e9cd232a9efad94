import { type Attempt, FINALIZER, NODE_LABELS } from '@coxswain/api-types';
import { aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import type { JobQuota } from '@coxswain/scheduling';
import { aCapacity, aCheckpoint, aNode, observe, World } from '../testing/index.ts';
import { anAttempt, aRunningJob, EARLIER, settled } from '../testing/jobs.ts';
import { factsOf } from '../observation/facts.ts';
import { recordOf } from '../record/job-record.ts';
import { growthsUndone, whyNotToGrow } from './growth.ts';

const NOW = new Date('2026-01-02T00:00:00Z');
const TEN_MINUTES_OF_LOOKS = 10;

function turn(world: World, times: number, ms: number): void {
  for (let round = 0; round < times; round += 1) {
    world.reconcile();
    world.tick(ms);
  }
}

const gangs = ({ job }: World): readonly (readonly [number, string | undefined])[] =>
  (job?.status?.attempts ?? []).map(({ layout, outcome, reason }) => [worldSize(layout), reason ?? outcome]);

/** Trains on one node of two since the other ones were lost; these are back, and avoided no more. */
function aShrunkenWorld(...others: readonly string[]): World {
  const job = aTrainingJob({ metadata: { finalizers: [FINALIZER] } });
  const labels = { ...aNode().labels, [NODE_LABELS.gpuType]: 'h100' };
  const spec = aPlannedJobSpec({ gpus: 4, minGpus: 2 });
  const world = new World({ ...job, spec }, { gpuCapacity: 2, labels }, ['node-a', 'node-b', ...others]);
  world.reportsSteps = true;
  turn(world, 20, 1_000);
  world.apply({ kind: 'saveCheckpoint', pick: 10 });
  turn(world, 2, 1_000);
  shrink(world, others);
  return world;
}

/** The second node is lost, with what could stand in for it; the job goes on without, and an hour after they came back none is avoided. */
function shrink(world: World, others: readonly string[] = []): void {
  world.apply({ kind: 'loseRack', nodes: ['node-b', ...others] });
  turn(world, 80, 5_000);
  world.apply({ kind: 'restoreNodes' });
  turn(world, 61, 60_000);
}

let saved = 4_000;

/** Another checkpoint is saved, after so many minutes. */
function saveAfter(world: World, minutes: number): void {
  turn(world, minutes, 60_000);
  saved += 1_000;
  world.apply({ kind: 'saveCheckpoint', pick: saved });
  turn(world, 20, 5_000);
}

describe('a gang on fewer GPUs makes way for more', () => {
  it('when their node has been ready for ten minutes', () => {
    const world = aShrunkenWorld();
    world.readySince.set('node-b', '2026-01-01T00:10:00Z');
    saveAfter(world, TEN_MINUTES_OF_LOOKS + 1);
    expect(gangs(world)).toEqual([
      [4, 'NodeLost'],
      [2, 'GpusFree'],
      [4, undefined],
    ]);
    expect(world.violations).toEqual([]);
  });

  it('not for a node that was gone in between, though nobody saw it gone', () => {
    const world = aShrunkenWorld();
    world.readySince.set('node-b', '2026-01-01T00:10:00Z');
    turn(world, TEN_MINUTES_OF_LOOKS - 1, 60_000);
    world.readySince.set('node-b', '2026-01-01T01:20:00Z');
    saveAfter(world, 2);
    expect(gangs(world)).toHaveLength(2);
    saveAfter(world, TEN_MINUTES_OF_LOOKS);
    expect(gangs(world)).toHaveLength(3);
  });

  it('when another node of those that it would take is taken, and one that has been ready for as long is there', () => {
    const world = aShrunkenWorld('node-c');
    world.readySince.set('node-b', '2026-01-01T00:10:00Z');
    world.readySince.set('node-c', '2026-01-01T00:20:00Z');
    turn(world, TEN_MINUTES_OF_LOOKS - 1, 60_000);
    world.apply({ kind: 'loseNode', pick: 1 });
    saveAfter(world, 3);
    expect(gangs(world)).toHaveLength(3);
  });

  it('not onto a node that a cache still shows, and that is gone', () => {
    const world = aShrunkenWorld();
    turn(world, TEN_MINUTES_OF_LOOKS + 1, 60_000);
    world.apply({ kind: 'saveCheckpoint', pick: 9_000 });
    world.apply({ kind: 'loseNode', pick: 1 });
    world.apply({ kind: 'staleObservation', looksAgo: 1, of: ['nodes'] });
    turn(world, 1, 5_000);
    expect(gangs(world)).toHaveLength(2);
    expect(world.job?.status?.attempts?.at(-1)).toMatchObject({ stage: 'Released' });
    expect(world.violations).toEqual([]);
  });

  it('after twice the wait where it had made way in vain, whoever leads meanwhile', () => {
    const world = aShrunkenWorld();
    saveAfter(world, TEN_MINUTES_OF_LOOKS + 1);
    expect(gangs(world)).toHaveLength(3);
    shrink(world);
    expect(gangs(world).map(([size]) => size)).toEqual([4, 2, 4, 2]);
    world.apply({ kind: 'crash', afterWrites: 0 });
    saveAfter(world, TEN_MINUTES_OF_LOOKS + 3);
    expect(gangs(world)).toHaveLength(4);
    saveAfter(world, TEN_MINUTES_OF_LOOKS);
    expect(gangs(world).map(([size]) => size)).toEqual([4, 2, 4, 2, 4]);
  });
});

describe('a gang that has room to grow, while the arbiter holds growth', () => {
  it('counts as held between two saves too, and grows at a save once nothing holds it', () => {
    const world = aShrunkenWorld();
    const { arbiter } = world;
    const another = aTrainingJob({ metadata: { name: 'another', uid: 'another' } });
    const about = { run: 'e1i1', isDue: true, nodes: [], switches: [], claims: [] } as const;
    const growElsewhere = (): void => void arbiter.observe(another).ruleOn({ cause: 'growth', ...about });
    turn(world, TEN_MINUTES_OF_LOOKS + 1, 60_000);
    expect(arbiter.heldByCause().growth).toBe(0);
    growElsewhere();
    saveAfter(world, 1);
    expect([gangs(world).length, arbiter.heldByCause().growth]).toEqual([2, 1]);
    saveAfter(world, 6);
    expect([gangs(world).length, arbiter.heldByCause().growth]).toEqual([3, 0]);
  });
});

describe('an elastic gang says of its size', () => {
  const fullSize = ({ job }: World): string | undefined =>
    job?.status?.conditions?.find(({ type }) => type === 'AtFullSize')?.reason;

  it('which condition keeps it from growing: the GPUs, the time for which they are free, its save', () => {
    const world = aShrunkenWorld();
    const seen = [fullSize(world)];
    world.apply({ kind: 'loseRack', nodes: ['node-b'] });
    turn(world, 1, 1_000);
    seen.push(fullSize(world));
    world.apply({ kind: 'restoreNodes' });
    turn(world, TEN_MINUTES_OF_LOOKS + 1, 60_000);
    seen.push(fullSize(world));
    saveAfter(world, 1);
    seen.push(fullSize(world));
    expect(seen).toEqual(['FreeForTooShort', 'GpusNotFree', 'WaitingForSave', 'AllGpus']);
  });

  it('for which sizes there is a layout', () => {
    const { message } = aShrunkenWorld().job?.status?.conditions?.find(({ type }) => type === 'AtFullSize') ?? {};
    expect(message).toMatch(/^The job runs on 2 of 4 GPUs\. .*The planner found layouts for 4, 2 GPUs\.$/);
  });
});

describe('a growth for which all GPUs are free', () => {
  /** Runs on 4 of 8 GPUs for so many hours, with so many steps of 10 s on all GPUs left. */
  function whyNot(about: { readonly hours?: number; readonly left?: number; readonly growCosts?: number }): unknown {
    const { hours = 24, left = 1e6, growCosts = 2 } = about;
    const startedAt = new Date(NOW.getTime() - hours * 3_600_000).toISOString();
    const layout = aLayout({ dataParallelDegree: 4 });
    const attempts = [{ ...anAttempt(), stage: 'Released' as const, layout, startedAt, runningAt: startedAt }];
    const spec = aPlannedJobSpec({ gpus: 8, minGpus: 2, training: { steps: left, globalBatchSize: 8 } });
    const job = { ...aTrainingJob(), spec, status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts } };
    const plan = {
      chosenBy: 'Planner' as const,
      gpus: 4,
      fabric: '',
      plannerVersion: '',
      plannedAt: startedAt,
      predictedStepMs: 10_000,
    };
    const facts = factsOf(observe({ job, timeouts: { growCosts } }));
    return whyNotToGrow({ ...recordOf(job), plan }, facts, NOW);
  }

  it.each<[string, Parameters<typeof whyNot>[0], string | undefined]>([
    ['pays in a job that goes on for long', {}, undefined],
    ['does not pay in a job that ends within minutes', { hours: 1, left: 352 }, 'DoesNotPay'],
    ['waits in a gang that started a moment ago', { hours: 0.1 }, 'ChangedRecently'],
    ['always pays if the administrator says so', { hours: 0.1, left: 10, growCosts: 0 }, undefined],
  ])('%s', (_what, about, expected) => {
    expect(whyNot(about)).toBe(expected);
  });
});

describe('a gang of a queue that could grow', () => {
  const LABELS_OF_NODE = { ...aNode().labels, [NODE_LABELS.gpuType]: 'h100' };
  const FREE = { own: 2, withBorrowed: 2 };
  const RULES = { nodeSelector: {}, tolerations: [] };

  /** Runs on 2 of 4 GPUs, has saved since, and the other node has been free for long. */
  function aGang(quota: JobQuota): ReturnType<typeof settled> {
    const layout = aLayout({ dataParallelDegree: 2 });
    const nodes = ['node-a', 'node-b'].map((name) => aNode({ name, gpuCapacity: 2, labels: LABELS_OF_NODE }));
    const running = aRunningJob({
      status: {
        attempts: [anAttempt({ layout, runningAt: EARLIER })],
        checkpoint: { name: 'gpt-e1-s5', step: 5 },
      },
    });
    const spec = aPlannedJobSpec({ gpus: 4, minGpus: 2, resources: { gpusPerNode: 2 } });
    const checkpoints = [aCheckpoint(running.job, { spec: { step: 10, epoch: 1, layout } })];
    return settled({
      ...running,
      job: { ...running.job, spec },
      checkpoints,
      quota,
      timeouts: { growCosts: 0 },
      capacity: () => aCapacity(nodes, { 'node-a': 2 }),
      readySinceOf: () => EARLIER,
      elapsedMs: new Map([[`e1/room-to-grow/${EARLIER}`, 600_000]]),
      areCheckpointsProven: true,
      isProven: true,
    });
  }

  const admittedFor = (gpus: number, free = FREE): JobQuota => ({ kind: 'admitted', rules: RULES, gpus, free });

  it.each<[string, JobQuota, string, string | undefined]>([
    ['asks for the quota of all GPUs first', admittedFor(2), 'Released/WaitingForQuota', '4 ranks'],
    ['stops to grow when it has the quota', admittedFor(4), 'Stopping/', undefined],
    ['asks for none while Kueue evicts it', { kind: 'evicted', reason: '', message: '' }, 'Stopping/', undefined],
  ])('%s', (_what, quota, expected, growth) => {
    const { status, actions } = aGang(quota);
    const reason = status.conditions?.find(({ type }) => type === 'AtFullSize')?.reason ?? '';
    expect(`${status.attempts?.at(-1)?.stage}/${reason}`).toBe(expected);
    const asked = actions.find((one) => one.kind === 'askQuota')?.question.growth;
    expect(asked && `${worldSize(asked.layout)} ranks`).toBe(growth);
  });
});

describe('growths that did not last', () => {
  const attempt = (gpus: number, changes: Partial<Attempt> = {}): Attempt => ({
    ...anAttempt(),
    layout: aLayout({ dataParallelDegree: gpus }),
    startedAt: '2026-01-01T12:00:00Z',
    ...changes,
  });
  const resized = { outcome: 'Resized' } as const;
  const earlier = { startedAt: '2025-12-31T12:00:00Z' };

  it.each<[string, readonly Attempt[], number]>([
    ['none where the gang never grew', [attempt(4), attempt(2)], 0],
    ['none where it grew and still is so large', [attempt(4), attempt(2, resized), attempt(4)], 0],
    ['none where it has made way and nothing followed', [attempt(4), attempt(2, resized)], 0],
    ['one where it shrank again', [attempt(2, resized), attempt(4), attempt(2)], 1],
    ['one where it failed at full size first', [attempt(2, resized), attempt(4), attempt(4), attempt(2)], 1],
    ['one where no more came of it', [attempt(2, resized), attempt(2)], 1],
    ['two of two', [attempt(2, resized), attempt(4), attempt(2, resized), attempt(4), attempt(2)], 2],
    ['none where that was more than a day ago', [attempt(2, resized), attempt(4), attempt(2, earlier)], 0],
    ['one where another clock wrote it', [attempt(2, resized), attempt(2, { startedAt: '2026-02-01T00:00:00Z' })], 1],
  ])('are %s', (_what, attempts, expected) => {
    expect(growthsUndone({ attempts }, NOW)).toBe(expected);
  });
});
