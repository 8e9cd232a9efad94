/**
 * Continues each snapshot of a file as the operator of the tree that this program runs in, and prints the results as JSON. `npm run campaign -- rollback`
 * runs it in this tree and in a tree of the release before, so it imports only what both have. Argument: the file.
 */
import { readFileSync } from 'node:fs';
import { CheckpointResourceStatus, PlacementSpec, TrainingJobStatus } from '@coxswain/api-types';
import { judgeQuarantine } from '@coxswain/lifecycle';
import { ReconcilerWorld } from '../../training-job/testing/reconciler-world.ts';
import type { Snapshot } from './take-snapshots.ts';

/** How a snapshot went on. */
interface Continued {
  /** The operator of that tree threw, came to no rest, or its definitions do not allow an object as it was or became. */
  readonly problem?: string;
  /** Whether the pods that ran are the ones that run in the end. */
  readonly keptPods?: boolean;
  /** Before the pods end, and after they ended with code 0. */
  readonly trains?: Standing;
  readonly finished?: Standing;
}

/** A job in short. */
interface Standing {
  readonly state: string | undefined;
  readonly epoch: number | undefined;
  readonly charged: number | undefined;
  /** Pods that run. */
  readonly runs: number;
}

async function continueLife({ nowMs, objects }: Snapshot): Promise<Continued> {
  const world = new ReconcilerWorld();
  try {
    world.nowMs = nowMs;
    world.cluster.load(objects);
    for (const object of objects) checkSchema(object);
    const running = runningPods(world);
    await live(world, () => 'runs');
    const now = runningPods(world);
    const trains = standingOf(world);
    await live(world, () => 0);
    checkSchema(world.job);
    return { keptPods: [...running].every((uid) => now.has(uid)), trains, finished: standingOf(world) };
  } catch (error) {
    return { problem: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** Definitions of resources are generated from these schemas. An API server with the definitions of that tree would reject a write of what they reject. */
const SCHEMAS = {
  TrainingJob: ({ status }: Part) => status === undefined || TrainingJobStatus.parse(status),
  Checkpoint: ({ status }: Part) => status === undefined || CheckpointResourceStatus.parse(status),
  Placement: ({ spec }: Part) => PlacementSpec.parse(spec),
} as const;

interface Part {
  readonly spec?: unknown;
  readonly status?: unknown;
}

function checkSchema(object: Part & { readonly kind?: string }): void {
  const { kind = '' } = object;
  if (kind in SCHEMAS) SCHEMAS[kind as keyof typeof SCHEMAS](object);
}

/** What that tree does to a node whose quarantine a person overruled, as this release notes it. */
function judgeOverruled(): readonly unknown[] {
  const since = '2026-01-01T00:00:00Z';
  const condition = { type: 'GpuXid79', status: 'True', message: 'GPU has fallen off the bus' } as const;
  const note = { since, bootId: 'b', evidence: [`condition GpuXid79: ${condition.message}`], overruledAt: since };
  const of = { gpus: 8, bootId: 'b', conditions: [], isQuarantined: false };
  const nodes = ['node-a', 'node-b'].map((name) => ({ ...of, name, note: JSON.stringify(note) }));
  return judgeQuarantine(nodes, [], new Date(since)).actions;
}

/** Lives until nothing changes for two minutes: delays before restarts, and times without news of a node, are shorter. */
async function live(world: ReconcilerWorld, fateOf: () => 'runs' | number): Promise<void> {
  for (let quiet = 0, turns = 0; quiet < 24; turns += 1) {
    if (turns > 200) throw new Error('the cluster still changes');
    const before = world.picture();
    await world.live(fateOf);
    world.nowMs += 5_000;
    quiet = world.picture() === before ? quiet + 1 : 0;
  }
}

function runningPods(world: ReconcilerWorld): ReadonlySet<string | undefined> {
  const isRunning = ({ status }: { readonly status?: unknown }): boolean =>
    (status as { readonly phase?: string } | undefined)?.phase === 'Running';
  return new Set(world.pods.filter(isRunning).map(({ metadata }) => metadata.uid));
}

/** No launcher reports here. The release before says Running of such a gang, this one Starting. */
const UP: readonly (string | undefined)[] = ['Starting', 'Running'];

function standingOf(world: ReconcilerWorld): Standing {
  const { state, epoch, restarts } = world.job.status ?? {};
  return { state: UP.includes(state) ? 'up' : state, epoch, charged: restarts?.charged, runs: runningPods(world).size };
}

const [file = ''] = process.argv.slice(2);
const results: Continued[] = [];
for (const snapshot of JSON.parse(readFileSync(file, 'utf8')) as readonly Snapshot[]) {
  results.push(await continueLife(snapshot));
}
process.stdout.write(JSON.stringify({ results, overruled: judgeOverruled() }));
