import {
  API_GROUP_VERSION,
  type Checkpoint,
  effectiveLayout,
  FINALIZER,
  jobPrefix,
  NODE_LABELS,
  type Placement,
  type TerminationCause,
  type TrainingJob,
  podName,
} from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aCheckpoint as aCheckpointOf } from '@coxswain/checkpoint/testing';
import { type FabricCapacity, fabricFromNodes, type NodeFacts } from '@coxswain/fabric';
import { ParallelLayout, worldSize } from '@coxswain/layout';
import type { Observed, ObservedExit, ObservedPod } from '../observation/observed.ts';

type Overrides<T> = Partial<T>;

/** A ready node with two GPUs in NVLink domain `d1` of island `ib`. */
export function aNode(overrides: Overrides<NodeFacts> = {}): NodeFacts {
  return {
    name: 'node-a',
    labels: { [NODE_LABELS.nvlinkDomain]: 'd1', [NODE_LABELS.nicIsland]: 'ib' },
    gpuCapacity: 2,
    schedulable: true,
    ready: true,
    ...overrides,
  };
}

/** Two free nodes, `node-a` and `node-b`, with two GPUs each. */
export function aCapacity(
  nodes: readonly NodeFacts[] = [aNode(), aNode({ name: 'node-b' })],
  usedGpus: Readonly<Record<string, number>> = {},
): FabricCapacity {
  return { fabric: fabricFromNodes(nodes), usedGpus: new Map(Object.entries(usedGpus)) };
}

function layoutOf(job: TrainingJob): ParallelLayout {
  return effectiveLayout(job.spec, job.status?.plan) ?? ParallelLayout.parse({});
}

/** The placement of an epoch of the job: two ranks each on node-a and node-b. It bears the name that an attempt without a hash knows it by. */
export function aPlacement(job: TrainingJob, spec: Overrides<Placement['spec']> = {}): Placement {
  const epoch = spec.epoch ?? 1;
  const layout = layoutOf(job);
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Placement',
    metadata: { name: `${jobPrefix(job.metadata)}-e${epoch}`, namespace: 'research', uid: `placement-${epoch}` },
    spec: {
      jobName: job.metadata.name,
      jobUid: job.metadata.uid,
      epoch,
      layout,
      worldSize: worldSize(layout),
      ranksPerPod: 2,
      nodes: ['node-a', 'node-b'],
      ...spec,
    },
  };
}

/** A running pod of attempt 1 on node-a (index 0) or node-b (index 1). */
export function aPod(job: TrainingJob, overrides: Overrides<ObservedPod> = {}): ObservedPod {
  const { epoch = 1, podIndex = 0 } = overrides;
  const placement = job.status?.attempts?.findLast((attempt) => attempt.epoch === epoch)?.placement;
  const name = podName(job.metadata, { epoch, podIndex, placement });
  return {
    name,
    uid: `uid-of-${name}`,
    epoch,
    podIndex,
    nodeName: podIndex === 0 ? 'node-a' : 'node-b',
    gated: false,
    phase: 'Running',
    held: false,
    running: true,
    ours: true,
    ...overrides,
  };
}

/** An engine's exit 1 on rank 1 in attempt 1, with its cause. */
export function anExit(overrides: Overrides<ObservedExit> = {}, cause: Overrides<TerminationCause> = {}): ObservedExit {
  return {
    exitCode: 1,
    reason: 'Error',
    finishedAt: '2026-01-01T00:10:00Z',
    cause: {
      version: 1,
      kind: 'engineFailed',
      epoch: 1,
      node: 'node-a',
      rank: 1,
      exitCode: 1,
      message: '',
      lastLines: ['Traceback (most recent call last):', 'ValueError: planted'],
      unreportedCheckpoints: [],
      ...cause,
    },
    ...overrides,
  };
}

/** A complete checkpoint of the job, of attempt 1 and step 20. */
export function aCheckpoint(
  job: TrainingJob,
  overrides: { readonly spec?: Overrides<Checkpoint['spec']>; readonly status?: Checkpoint['status'] } = {},
): Checkpoint {
  const { name, uid } = job.metadata;
  const layout = layoutOf(job);
  const checkpoint = aCheckpointOf({ jobName: name, jobUid: uid, layout, ...overrides.spec });
  return { ...checkpoint, status: overrides.status ?? { state: 'Complete' } };
}

/** A job with its finalizer, two free nodes and nothing else, read from the API server a moment ago, unless told otherwise. */
export function observe(overrides: Partial<Observed> = {}): Observed {
  return {
    job: aTrainingJob({ metadata: { finalizers: [FINALIZER] } }),
    pods: [],
    placements: [],
    checkpoints: [],
    capacity: () => aCapacity(),
    nodeStates: new Map(),
    isProven: true,
    podProbe: { kind: 'accepted' },
    ...overrides,
  };
}
