import type { Placement, TrainingJob } from '@coxswain/api-types';
import type { NodeFacts } from '@coxswain/fabric';
import type { KubeObject } from '@coxswain/kube';
import { ClusterScheduler, type SchedulerView } from '@coxswain/scheduling';
import { toCachedNode } from '../../cluster/cached-node.ts';
import { toCachedPod, type CachedPod } from '../../cluster/cached-pod.ts';
import type { InMemoryCluster } from './in-memory-cluster.ts';

/** A scheduler that reads a cluster in memory, without lag. */
export function createInMemoryScheduler(cluster: InMemoryCluster, monotonicMs: () => number): ClusterScheduler {
  const view = viewOf(cluster, monotonicMs);
  const scheduler = new ClusterScheduler(view);
  const jobs = new Map<string, TrainingJob>();
  cluster.onChange((kind, key) => {
    if (kind === 'TrainingJob') {
      const before = jobs.get(key);
      const after = cluster.get<TrainingJob & KubeObject>('TrainingJob', key);
      if (after === undefined) jobs.delete(key);
      else jobs.set(key, after);
      if (before !== undefined) scheduler.jobChanged(before, after);
    }
    if (kind === 'Node') scheduler.nodeChanged(key);
    if (kind === 'Pod') for (const { name } of view.nodes()) scheduler.gpusChanged(name);
  });
  return scheduler;
}

function viewOf(cluster: InMemoryCluster, monotonicMs: () => number): SchedulerView {
  const pods = (): readonly CachedPod[] => cluster.list('Pod').map((pod) => toCachedPod(pod, { asGang: true }));
  const used = (): Map<string, number> => {
    const byNode = new Map<string, number>();
    for (const { nodeName, terminal, gpus } of pods()) {
      if (nodeName !== undefined && !terminal) byNode.set(nodeName, (byNode.get(nodeName) ?? 0) + gpus);
    }
    return byNode;
  };
  const node = (name: string): NodeFacts | undefined => {
    const found = cluster.get('Node', name);
    return found === undefined ? undefined : toCachedNode(found).facts;
  };
  const jobs = (): readonly TrainingJob[] => cluster.list<TrainingJob & KubeObject>('TrainingJob');
  return {
    monotonicMs,
    now: () => new Date(monotonicMs()),
    nodes: () => cluster.list('Node').map((one) => toCachedNode(one).facts),
    node,
    reserve: () => undefined,
    gpusUnderPods: (name) => used().get(name) ?? 0,
    gpusUnderPodsByNode: used,
    jobs,
    job: (uid) => jobs().find(({ metadata }) => metadata.uid === uid),
    placements: () => cluster.list<Placement & KubeObject>('Placement'),
    settledPods: ({ metadata }) =>
      new Set(
        pods()
          .filter((pod) => pod.gang?.jobUid === metadata.uid && (pod.nodeName !== undefined || pod.terminal))
          .map((pod) => pod.metadata.name),
      ),
  };
}
