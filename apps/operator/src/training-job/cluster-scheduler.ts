import type { TrainingJob } from '@coxswain/api-types';
import type { NodeFacts } from '@coxswain/fabric';
import { EndArbiter } from '@coxswain/lifecycle';
import { ClusterScheduler, type SchedulerView } from '@coxswain/scheduling';
import { keyOf } from '@coxswain/kube';
import { type CachedNode, sameFacts } from '../cluster/cached-node.ts';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_JOB, BY_UID } from '../cluster/indexes.ts';

/** Times that the scheduler reads. */
interface SchedulerClock {
  monotonicMs(): number;
  now(): Date;
}

/**
 * A scheduler that reads the operator's cache. This function reports changes of nodes, of stated fabrics and of GPUs under pods to it; the
 * watches of jobs report changes of jobs. `beside`: searches in another process, and who wants to know of held nodes.
 */
export function createClusterScheduler(
  cache: ClusterCache,
  clock: SchedulerClock,
  beside: Pick<SchedulerView, 'findNodes' | 'promisesChanged'> = {},
): ClusterScheduler {
  const scheduler = new ClusterScheduler({ ...viewOf(cache, clock), ...beside });
  cache.gpuUsage.onChange((node) => scheduler.gpusChanged(node));
  cache.nodes.onChange((change) => {
    if (change.kind === 'updated' && sameFacts(change.previous, change.object)) return;
    scheduler.nodeChanged(change.object.metadata.name);
  });
  cache.stated.onChange((changed) => {
    if (changed === 'reserve') scheduler.reserveChanged();
    else for (const { metadata } of cache.nodes.list()) scheduler.nodeChanged(metadata.name);
  });
  cache.drains.onChange((node) => scheduler.nodeChanged(node));
  return scheduler;
}

/** The arbiter of unrequested ends. It reads the operator's cache. */
export function createEndArbiter(cache: ClusterCache, clock: { now(): Date }): EndArbiter {
  return new EndArbiter({
    jobs: () => cache.jobs.cached.list().map((job) => cache.jobs.newest(job)),
    now: () => clock.now(),
  });
}

function viewOf(cache: ClusterCache, clock: SchedulerClock): SchedulerView {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    nodes: () => cache.nodes.list().map((node) => factsOf(cache, node)),
    node: (name) => {
      const node = cache.nodes.get(name);
      return node === undefined ? undefined : factsOf(cache, node);
    },
    reserve: () => cache.stated.reserve,
    windows: () => cache.stated.windows(),
    gpusUnderPods: (node) => cache.gpuUsage.on(node),
    gpusUnderPodsByNode: () => cache.gpuUsage.snapshot(),
    jobs: () => cache.jobs.cached.list().map((job) => cache.jobs.newest(job)),
    job: (uid) => {
      const cached = cache.jobs.cached.byIndex(BY_UID, uid)[0];
      return cached === undefined ? undefined : cache.jobs.newest(cached);
    },
    placements: () => cache.placements.whole(),
    settledPods: (job) => settledPods(cache, job),
    hasPod: ({ metadata }, name) => cache.pods.cached.get(keyOf({ metadata: { ...metadata, name } })) !== undefined,
  };
}

/** A node that is to be drained takes no more gangs, even if it is not cordoned. */
function factsOf({ stated, drains }: ClusterCache, node: CachedNode): NodeFacts {
  const facts = stated.factsOf(node);
  return drains.isAsked(node.metadata.name) ? { ...facts, schedulable: false, isCordoned: true } : facts;
}

function settledPods(cache: ClusterCache, { metadata: { uid, namespace } }: TrainingJob): ReadonlySet<string> {
  const settled = new Set<string>();
  for (const { metadata, gang, nodeName, terminal } of cache.pods.cached.byIndex(BY_JOB, uid)) {
    // A label is anybody's to write: another tenant's pod of such a name settles nothing.
    const isOwn = metadata.namespace === namespace && gang?.ownerUid === uid;
    if (isOwn && (nodeName !== undefined || terminal)) settled.add(metadata.name);
  }
  return settled;
}
