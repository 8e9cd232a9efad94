/**
 * Lives jobs under this release and prints, as JSON, what the cluster holds before each write. `npm run campaign -- rollback` lets the release before
 * continue from there.
 */
import { EndArbiter } from '@coxswain/lifecycle';
import type { KubeObject } from '@coxswain/kube';
import type { InMemoryCluster, Kind } from '../../training-job/testing/in-memory-cluster.ts';
import { ReconcilerWorld } from '../../training-job/testing/reconciler-world.ts';
import { StorageWorld } from '../../training-job/testing/storage-world.ts';

/** The cluster at one moment of a job's life: what an operator of the release before may find when it takes over. */
export interface Snapshot {
  readonly life: string;
  /** The write before which it was taken, such as `12 writeStatus tiny-gpt`. */
  readonly before: string;
  readonly nowMs: number;
  readonly objects: readonly (KubeObject & { readonly kind: Kind })[];
}

/** A job's life under this release. */
type Life = (record: (world: ReconcilerWorld) => ReconcilerWorld) => Promise<void>;

/** Lives with all that this release writes and the release before does not know. */
const LIVES: Readonly<Record<string, Life>> = {
  finishes: async (record) => record(new ReconcilerWorld()).live(() => 0),
  'fails, restarts and runs': async (record) =>
    record(new ReconcilerWorld()).live(({ epoch }) => (epoch === 1 ? 1 : 'runs')),
  'is suspended and goes on': async (record) => {
    const world = record(new ReconcilerWorld());
    await world.live();
    for (const suspend of [true, false]) {
      world.edit((job) => ({ ...job, spec: { ...job.spec, suspend } }));
      await world.live();
    }
  },
  'passes a suspect checkpoint over': async (record) => {
    const storage = new StorageWorld();
    record(storage.world);
    storage.unreadable.add(500);
    await storage.untilItTrains();
  },
  'outlives an outage of its storage': async (record) => {
    const storage = new StorageWorld();
    record(storage.world);
    storage.begin('down', 60_000);
    await storage.untilItTrains();
  },
  'verifies a suspect checkpoint again': async (record) => {
    const storage = new StorageWorld();
    record(storage.world);
    storage.begin('partial', 47_000);
    await storage.untilItTrains();
  },
  'condemns a checkpoint': async (record) => {
    const storage = new StorageWorld();
    record(storage.world);
    storage.flipped.add(500);
    await storage.untilItTrains();
  },
  'is held on a node that leaves': async (record) => {
    const jobs = () => [world.job];
    const now = () => new Date(world.nowMs);
    const world: ReconcilerWorld = record(new ReconcilerWorld({}, { arbiter: new EndArbiter({ jobs, now }) }));
    await world.live();
    world.nowMs += 60_000;
    announceMaintenance(world.cluster, 'node-b');
    await world.live();
  },
};

/** Lives them all, and takes a snapshot before each write and at the end: what kubelets and people did since the last write is part of it. */
async function takeSnapshots(): Promise<readonly Snapshot[]> {
  const snapshots: Snapshot[] = [];
  for (const [life, live] of Object.entries(LIVES)) {
    let writes = 0;
    const lived: ReconcilerWorld[] = [];
    const take = ({ nowMs, cluster }: ReconcilerWorld, what: string): void => {
      snapshots.push({ life, before: `${writes} ${what}`, nowMs, objects: objectsOf(cluster) });
    };
    await live((world) => {
      world.onWrite = ({ what, moment }) => {
        if (moment === 'before') take(world, what);
        else writes += 1;
      };
      lived.push(world);
      return world;
    });
    for (const world of lived) take(world, 'end');
  }
  return snapshots;
}

const KINDS = ['Node', 'TrainingJob', 'Placement', 'Checkpoint', 'Pod'] as const satisfies readonly Kind[];

function objectsOf(cluster: InMemoryCluster): Snapshot['objects'] {
  const all = KINDS.flatMap((kind) => cluster.list(kind).map((object) => ({ ...object, kind })));
  return JSON.parse(JSON.stringify(all)) as Snapshot['objects'];
}

function announceMaintenance(cluster: InMemoryCluster, node: string): void {
  const taints = [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }];
  const change = (one: KubeObject & { readonly spec?: object }) => ({ ...one, spec: { ...one.spec, taints } });
  cluster.update('Node', node, { expects: {}, change });
}

process.stdout.write(JSON.stringify(await takeSnapshots()));
