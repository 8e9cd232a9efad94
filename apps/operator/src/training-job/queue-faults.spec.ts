/** Do held nodes, the order and the ages of waiting jobs survive faults: writes that fail, other leaders, other clocks, other releases? */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findCondition, type TrainingJobStatus } from '@coxswain/api-types';
import { KubeApiError } from '@coxswain/kube';
import { z } from 'zod';
import { QueueWorld } from './testing/queue-world.ts';

const HOUR_MS = 3_600_000;

/** What must not change while a job waits. */
const placeOf = ({ askedAt, expectedStart }: Partial<TrainingJobStatus>) => ({
  askedAt,
  promisedAt: expectedStart?.promisedAt,
  firstPromised: expectedStart?.firstPromised,
});

/** One job runs, `head` has nodes held for it, and `next` waits behind it. */
async function aQueue(): Promise<QueueWorld> {
  const world = new QueueWorld();
  await world.queue('head', 'next');
  expect([world.started, world.statusOf('head').expectedStart?.nodes]).toEqual([['first'], 2]);
  return world;
}

/** The running job ends, and then the head. Returns the jobs in the order of their starts. */
async function endBoth(world: QueueWorld): Promise<readonly string[]> {
  for (const name of ['first', 'head']) {
    world.finished.add(name);
    await world.minutes(4);
  }
  return world.started;
}

const IN_ORDER = ['first', 'head', 'next'];

/** The whole story, with a leader that dies once it has done so many writes. */
async function withDeathAfter(write: number): Promise<{ readonly world: QueueWorld; readonly writes: number }> {
  const world = new QueueWorld();
  let writes = 0;
  let isDead = false;
  world.onWrite = ({ moment }) => {
    if (isDead) throw new Error('a dead process writes nothing');
    if (moment !== 'after' || (writes += 1) !== write) return;
    isDead = true;
    throw new Error('the process dies');
  };
  world.afterReconciliation = () => {
    if (isDead) world.restart();
    isDead = false;
  };
  await world.queue('head', 'next');
  await endBoth(world);
  return { world, writes };
}

it('a leader that dies after any of its writes leaves its successor the order, the ages and one gang on each node', async () => {
  const { world: clean, writes } = await withDeathAfter(Infinity);
  const ages = IN_ORDER.map((name) => clean.statusOf(name).askedAt);
  expect([clean.started, writes > 25]).toEqual([IN_ORDER, true]);
  // A third of them; all were tried once.
  for (let write = 1; write <= writes; write += 3) {
    const { world } = await withDeathAfter(write);
    expect([write, world.started, world.mostGangsOnANode]).toEqual([write, IN_ORDER, 1]);
    expect([write, ...IN_ORDER.map((name) => world.statusOf(name).askedAt)]).toEqual([write, ...ages]);
  }
});

it('a new leader holds the nodes for the same job, since the same time, and writes no status of waiting jobs anew', async () => {
  const world = await aQueue();
  const before = placeOf(world.statusOf('head'));
  world.restart();
  world.writes.length = 0;
  await world.minutes(4);
  expect(placeOf(world.statusOf('head'))).toEqual(before);
  expect(world.writes.filter((what) => /head|next/.test(what))).toEqual([]);
});

describe.each([
  ['fails', new KubeApiError({ status: 503, reason: 'InternalError', message: 'failed calling webhook' })],
  ['refuses', new KubeApiError({ status: 422, reason: 'Invalid', message: 'status: Invalid value' })],
] as const)('while the API server %s each status', (_, error) => {
  const rejectStatusOf = (world: QueueWorld, ...names: readonly string[]): void => {
    world.onWrite = ({ what, moment }) => {
      if (moment === 'before' && names.some((name) => what.startsWith(`writeStatus ${name}`))) throw error;
    };
  };

  it('no job takes the nodes that are held for another one, and the order is the same afterwards', async () => {
    const world = await aQueue();
    const before = placeOf(world.statusOf('head'));
    rejectStatusOf(world, 'first', 'head', 'next');
    world.finished.add('first');
    await world.minutes(20);
    expect([world.started, placeOf(world.statusOf('head'))]).toEqual([['first'], before]);
    world.onWrite = () => undefined;
    await world.minutes(4);
    expect(world.started).toEqual(['first', 'head']);
    expect(await endBoth(world)).toEqual(IN_ORDER);
  });

  it('of the head alone, other jobs do not wait for it for ever', async () => {
    const world = await aQueue();
    rejectStatusOf(world, 'head');
    world.finished.add('first');
    await world.minutes(40);
    expect(world.started).toEqual(['first', 'next']);
  });
});

describe('under a leader whose clock is an hour', () => {
  it.each([
    ['ahead', HOUR_MS],
    ['behind', -HOUR_MS],
  ])('%s, ages and held nodes stay, and the order is the same', async (_sentence, skewMs) => {
    const world = await aQueue();
    const before = ['head', 'next'].map((name) => placeOf(world.statusOf(name)));
    world.restart();
    world.nowMs += skewMs;
    await world.minutes(4);
    expect(['head', 'next'].map((name) => placeOf(world.statusOf(name)))).toEqual(before);
    expect(await endBoth(world)).toEqual(IN_ORDER);
    expect(world.mostGangsOnANode).toBe(1);
  });

  it.each([
    ['ahead, a run ends by spec.maxRuntimeSeconds as much earlier', HOUR_MS, 'Ended'],
    ['behind, a run does not end earlier', -HOUR_MS, 'Released'],
  ] as const)('%s', async (_sentence, skewMs, want) => {
    const world = new QueueWorld({ maxRuntimeSeconds: 5_400 });
    await world.minutes(40);
    world.restart();
    world.nowMs += skewMs;
    await world.minutes(2);
    expect(world.statusOf('first').attempts?.at(-1)?.stage).toBe(want);
  });
});

describe('a job that waits keeps its place', () => {
  it('when its PriorityClass is deleted, also under a new leader', async () => {
    const world = new QueueWorld();
    world.priorityClasses = [{ name: 'urgent', value: 1000, isDefault: false, neverPreempts: false }];
    await world.minutes(2);
    for (const [name, spec] of [
      ['usual', {}],
      ['urgent', { priorityClassName: 'urgent' }],
    ] as const) {
      world.submit(name, spec);
      await world.minutes(2);
    }
    world.priorityClasses = [];
    await world.minutes(2);
    world.restart();
    await world.minutes(2);
    expect(findCondition(world.statusOf('urgent').conditions, 'Placed')?.message).toContain(
      'PriorityClass urgent was deleted; the job keeps its value 1000.',
    );
    world.finished.add('first');
    await world.minutes(6);
    expect(world.started).toEqual(['first', 'urgent']);
  });

  it('when its status was written by the release before, which knows neither ages nor held nodes', async () => {
    const world = await aQueue();
    const ages = ['head', 'next'].map((name) => world.statusOf(name).askedAt);
    for (const name of ['first', 'head', 'next'])
      world.rewriteStatus(name, ({ askedAt: _, expectedStart: __, priority: ___, runtime: ____, ...status }) => status);
    world.restart();
    await world.minutes(4);
    expect(['head', 'next'].map((name) => world.statusOf(name).askedAt)).toEqual(ages);
    expect(world.statusOf('head').expectedStart?.nodes).toBe(2);
    expect(await endBoth(world)).toEqual(IN_ORDER);
  });

  it('and its status can be read by the release before, after a rollback', async () => {
    const path = join(import.meta.dirname, 'testing/earlier-release/status-schema.json');
    const schema = z.fromJSONSchema(JSON.parse(readFileSync(path, 'utf8')) as Parameters<typeof z.fromJSONSchema>[0]);
    const world = await aQueue();
    for (const name of ['head', 'next'])
      expect(schema.safeParse(JSON.parse(JSON.stringify(world.statusOf(name)))).error).toBeUndefined();
  });
});
