import type { TrainingJob } from '@coxswain/api-types';
import { Admission, type AdmissionView } from '@coxswain/lifecycle';
import { sameFacts } from '../cluster/cached-node.ts';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_JOB, BY_UID } from '../cluster/indexes.ts';

/** Admission over the operator's cache. Follows changes of nodes, of stated facts about them, and of GPUs that pods hold; the watch of jobs reports jobs. */
export function clusterAdmission(cache: ClusterCache, clock: { monotonicMs(): number }): Admission {
  const admission = new Admission(viewOf(cache, clock));
  cache.gpuUsage.onChange((node) => admission.gpusChanged(node));
  cache.nodes.onChange((change) => {
    if (change.kind === 'updated' && sameFacts(change.previous, change.object)) return;
    admission.nodeChanged(change.object.metadata.name);
  });
  cache.stated.onChange((changed) => {
    if (changed === 'reserve') admission.reserveChanged();
    else for (const { metadata } of cache.nodes.list()) admission.nodeChanged(metadata.name);
  });
  return admission;
}

function viewOf(cache: ClusterCache, clock: { monotonicMs(): number }): AdmissionView {
  return {
    monotonicMs: () => clock.monotonicMs(),
    nodes: () => cache.nodes.list().map((node) => cache.stated.factsOf(node)),
    node: (name) => {
      const node = cache.nodes.get(name);
      return node === undefined ? undefined : cache.stated.factsOf(node);
    },
    reserve: () => cache.stated.reserve,
    gpusUnderPods: (node) => cache.gpuUsage.on(node),
    gpusUnderPodsByNode: () => cache.gpuUsage.snapshot(),
    jobs: () => cache.jobs.cached.list().map((job) => cache.jobs.newest(job)),
    job: (uid) => {
      const cached = cache.jobs.cached.byIndex(BY_UID, uid)[0];
      return cached === undefined ? undefined : cache.jobs.newest(cached);
    },
    placements: () => cache.placements.whole(),
    settledPods: (job) => settledPods(cache, job),
  };
}

function settledPods(cache: ClusterCache, { metadata: { uid, namespace } }: TrainingJob): ReadonlySet<string> {
  const pods = cache.pods.cached.byIndex(BY_JOB, uid);
  // A label is anybody's to write: another tenant's pod of such a name settles nothing.
  const own = pods.filter(({ metadata, gang }) => metadata.namespace === namespace && gang?.ownerUid === uid);
  return new Set(own.filter((pod) => pod.nodeName !== undefined || pod.terminal).map((pod) => pod.metadata.name));
}
