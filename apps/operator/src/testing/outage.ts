import { setTimeout as delay } from 'node:timers/promises';
import type { TrainingJob } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { isReady } from './fake-heartbeats.ts';
import type { World } from './world.ts';

/** What must be the same of a gang before and after: its pods and what was done about it. */
export interface GangPicture {
  readonly pods: readonly string[];
  readonly epoch: number | undefined;
  readonly restarts: unknown;
}

/** The gang's pods, each with its UID, its phase and whether anybody has deleted it, and what its job counts. */
export async function pictureOf(world: World, job: TrainingJob): Promise<GangPicture> {
  const { namespace = '', name } = job.metadata;
  const pods = await world.pods(namespace);
  const { status } = await world.readJob(namespace, name);
  return {
    pods: pods
      .map(({ metadata, status: { phase } }) => `${metadata.uid} ${phase} ${metadata.deletionTimestamp ?? ''}`)
      .toSorted(),
    epoch: status?.epoch,
    restarts: status?.restarts,
  };
}

/** Waits until the cluster's controllers say of all these nodes that they are ready, or that they are not. */
export async function untilNodes(world: World, names: readonly string[], want: 'ready' | 'notReady'): Promise<void> {
  await waitFor(
    async () => {
      const nodes = await Promise.all(names.map((name) => world.heartbeats.read(name)));
      return nodes.every((node) => isReady(node) === (want === 'ready'));
    },
    { what: `${names.join(', ')} to be ${want}` },
  );
}

/** Takes the API server away for so long. Resolves when it is back, every node is ready again, and controllers had time to act on what they saw. */
export async function sitOutOutage(
  world: World,
  options: { readonly nodes: readonly string[]; readonly outageMs: number; readonly afterMs: number },
): Promise<void> {
  const { apiserver } = world.plane.components;
  await apiserver.stop({ graceMs: 1_000 });
  await delay(options.outageMs);
  await apiserver.start();
  await untilNodes(world, options.nodes, 'ready');
  await delay(options.afterMs);
}
