import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findCondition, type TrainingJobStatus } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import { EndArbiter, judgeQuarantine } from '@coxswain/lifecycle';
import { z } from 'zod';
import type { Kind } from './testing/in-memory-cluster.ts';
import { ReconcilerWorld } from './testing/reconciler-world.ts';
import { StorageWorld } from './testing/storage-world.ts';

type Stored = KubeObject & { readonly kind: Kind };

const read = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'testing/earlier-release', name), 'utf8'));
const OBJECTS = read('objects.json') as Readonly<Record<'creating' | 'running' | 'suspending', readonly Stored[]>>;

/** A cluster as the earlier release left it, and an operator of this one. */
function upgraded(stage: keyof typeof OBJECTS): ReconcilerWorld {
  const world = new ReconcilerWorld();
  world.cluster.load(OBJECTS[stage]);
  return world;
}

const uidsOf = (world: ReconcilerWorld): readonly (string | undefined)[] =>
  world.pods.map(({ metadata }) => metadata.uid);

describe('a gang of the earlier release', () => {
  it('that runs goes on in the same pods, and finishes', async () => {
    const world = upgraded('running');
    const before = uidsOf(world);
    await world.live();
    expect(world.writes.filter((what) => !what.startsWith('writeStatus'))).toEqual([]);
    expect(world.job.status).toMatchObject({ state: 'Running', epoch: 1, restarts: { total: 0, charged: 0 } });
    await world.live(() => 0);
    expect(uidsOf(world)).toEqual(before);
    expect(world.job.status).toMatchObject({ state: 'Complete', epoch: 1, restarts: { total: 0, charged: 0 } });
  });

  it('that was being created is completed, with the pods that it has', async () => {
    const world = upgraded('creating');
    const before = uidsOf(world);
    await world.live();
    expect(uidsOf(world)).toEqual(expect.arrayContaining([...before]));
    expect(world.pods).toHaveLength(2);
    expect(world.job.status).toMatchObject({ state: 'Running', epoch: 1, restarts: { total: 0, charged: 0 } });
  });

  it('that was asked to suspend is suspended, and goes on as a new epoch', async () => {
    const world = upgraded('suspending');
    await world.live();
    expect(world.job.status).toMatchObject({ state: 'Suspended', attempts: [{ epoch: 1, outcome: 'Suspended' }] });
    world.edit((job) => ({ ...job, spec: { ...job.spec, suspend: false } }));
    await world.live();
    expect(world.job.status).toMatchObject({ state: 'Running', epoch: 2 });
  });
});

describe('after a rollback the earlier release', () => {
  const schema = z.fromJSONSchema(read('status-schema.json') as Parameters<typeof z.fromJSONSchema>[0]);
  const statusesOf = async (live: (world: ReconcilerWorld) => Promise<void>): Promise<readonly TrainingJobStatus[]> => {
    const arbiter = new EndArbiter({ jobs: () => [world.job], now: () => new Date(world.nowMs) });
    const world = new ReconcilerWorld({}, { arbiter });
    const written: TrainingJobStatus[] = [];
    const write = world.store.writeStatus.bind(world.store);
    world.store.writeStatus = (job, status) => {
      written.push(status);
      return write(job, status);
    };
    await live(world);
    return written;
  };

  it.each<readonly [string, (world: ReconcilerWorld) => Promise<void>]>([
    ['finishes', (world) => world.live(() => 0)],
    ['fails, restarts and finishes', (world) => world.live(({ epoch }) => (epoch === 1 ? 1 : 0))],
    ['spends its restarts', (world) => world.live(() => 1)],
    [
      'is suspended and goes on',
      async (world) => {
        await world.live();
        world.edit((job) => ({ ...job, spec: { ...job.spec, suspend: true } }));
        await world.live();
        world.edit((job) => ({ ...job, spec: { ...job.spec, suspend: false } }));
        await world.live(() => 0);
      },
    ],
    [
      'is held on a node that leaves, because no other node has room',
      async (world) => {
        await world.live();
        const taints = [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }];
        const change = (node: KubeObject & { readonly spec?: object }) => ({ ...node, spec: { ...node.spec, taints } });
        world.cluster.update('Node', 'node-b', { expects: {}, change });
        await world.live();
        expect(findCondition(world.job.status?.conditions, 'Running')?.reason).toBe('EndHeld');
      },
    ],
  ])('reads every status of a job that %s: epoch, attempts and conditions', async (_life, live) => {
    const statuses = await statusesOf(live);
    expect(statuses.length).toBeGreaterThan(3);
    for (const status of statuses) expect(schema.safeParse(JSON.parse(JSON.stringify(status))).error).toBeUndefined();
  });

  it('reads the status of a job with a priority that reaches the limit of its time, but for the reason of its attempt, and does not run it again', async () => {
    const statuses = await statusesOf(async (world) => {
      world.priorityClasses = [{ name: 'urgent', value: 1000, isDefault: true, neverPreempts: false }];
      await world.live();
      world.edit((job) => ({ ...job, spec: { ...job.spec, maxRuntimeSeconds: 600 } }));
      world.nowMs += 570_000;
      await world.live();
      expect(findCondition(world.job.status?.conditions, 'MaxRuntimeNear')?.status).toBe('True');
      world.nowMs += 60_000;
      await world.live();
    });
    const last = statuses.at(-1);
    expect(last).toMatchObject({ state: 'Failed', priority: { className: 'urgent', value: 1000 } });
    expect(last?.attempts).toMatchObject([{ outcome: 'Cancelled', reason: 'MaxRuntimeReached' }]);
    const unread = statuses.flatMap(
      (status) => schema.safeParse(JSON.parse(JSON.stringify(status))).error?.issues ?? [],
    );
    expect(new Set(unread.map(({ path }) => path.at(-1)))).toEqual(new Set(['reason']));
    expect(findCondition(last?.conditions, 'Failed')).toMatchObject({ status: 'True', reason: 'MaxRuntimeReached' });
  });

  const { attempt, checkpointStatus } = read('before-suspect.json') as Readonly<
    Record<'attempt' | 'checkpointStatus', Parameters<typeof z.fromJSONSchema>[0]>
  >;
  const before = { attempt: z.fromJSONSchema(attempt), checkpointStatus: z.fromJSONSchema(checkpointStatus) };
  const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

  it('reads the status of a job that passes a suspect checkpoint over, and may resume from that one, which it takes for complete', async () => {
    const storage = new StorageWorld();
    storage.unreadable.add(500);
    await storage.untilItTrains();
    expect(storage.attempt).toMatchObject({ resumedFrom: { step: 400 }, passedOver: [{ step: 500 }] });
    const { attempts = [] } = storage.world.job.status ?? {};
    expect(attempts).toHaveLength(4);
    for (const attempt of attempts) expect(before.attempt.safeParse(asJson(attempt)).error).toBeUndefined();
    const [suspect] = storage.checkpoints.filter(({ status }) => status?.suspect !== undefined);
    expect(before.checkpointStatus.safeParse(asJson(suspect?.status))).toMatchObject({
      success: true,
      data: { state: 'Complete' },
    });
  });

  it('reads the note of a node whose quarantine a person overruled', () => {
    const noteSchema = z.fromJSONSchema(read('quarantine-note.json') as Parameters<typeof z.fromJSONSchema>[0]);
    const node = { name: 'node-a', gpus: 8, bootId: 'boot-1', conditions: [], isQuarantined: false };
    const note = { since: '2026-01-01T00:00:00Z', bootId: node.bootId, evidence: ['condition GpuXid79'] };
    const [action] = judgeQuarantine([{ ...node, note: JSON.stringify(note) }], [], new Date()).actions;
    const noted = action?.kind === 'overrule' ? action.note : undefined;
    expect(noted?.overruledAt).toBeDefined();
    expect(noteSchema.safeParse(noted)).toMatchObject({ success: true });
  });
});
