import { effectiveLayout, NODE_LABELS, type PlacementSpec, type TrainingJob } from '@coxswain/api-types';
import type { NodeFacts } from '@coxswain/fabric';
import { ParallelLayout, worldSize } from '@coxswain/layout';
import type { SchedulerView } from '../scheduler-view.ts';

const NODES = ['node-a', 'node-b'];

/** The placement of the job's first attempt: two ranks each on node-a and node-b. */
export function thePlacementOf({ metadata, spec, status }: TrainingJob): PlacementSpec {
  const layout = effectiveLayout(spec, status?.plan) ?? ParallelLayout.parse({});
  return {
    jobName: metadata.name,
    jobUid: metadata.uid,
    epoch: 1,
    layout,
    worldSize: worldSize(layout),
    ranksPerPod: 2,
    nodes: NODES,
  };
}

/** A cluster of node-a and node-b, with two GPUs each unless `nodeFacts` say otherwise, that has one job and no pods. */
export function aSchedulerView(parts: {
  readonly job: TrainingJob;
  /** Facts of both nodes that differ from those of a ready node with two free GPUs. */
  readonly nodeFacts: Partial<NodeFacts>;
  readonly monotonicMs: () => number;
}): SchedulerView {
  const { job, nodeFacts, monotonicMs } = parts;
  const labels = { [NODE_LABELS.nvlinkDomain]: 'd1', [NODE_LABELS.nicIsland]: 'ib' };
  const nodes = NODES.map((name) => ({ labels, gpuCapacity: 2, schedulable: true, ready: true, ...nodeFacts, name }));
  return {
    monotonicMs,
    nodes: () => nodes,
    node: (name) => nodes.find((node) => node.name === name),
    reserve: () => undefined,
    gpusUnderPods: () => 0,
    gpusUnderPodsByNode: () => new Map(),
    jobs: () => [job],
    job: (uid) => (job.metadata.uid === uid ? job : undefined),
    placements: () => [],
    settledPods: () => new Set(),
  };
}
