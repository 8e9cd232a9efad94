import type {
  Checkpoint,
  CheckpointResourceSpec,
  Placement,
  PlacementSpec,
  TrainingJob,
  TrainingJobStatus,
} from '@coxswain/api-types';
import type { FabricCapacity } from '@coxswain/fabric';
import type { NodeState, ObservedPod, PodReference } from '@coxswain/lifecycle';

/**
 * What the reconciler needs of the cluster. Reads come from a cache with our own writes laid over it, so they never wait, except those
 * named `readLive`. Every write fails when this process does not lead (any more).
 */
export interface TrainingJobStore {
  /** The job of that key (`namespace/name`), as new as we know it. */
  findJob(key: string): TrainingJob | undefined;
  podsOf(job: TrainingJob): readonly ObservedPod[];
  placementsOf(job: TrainingJob): readonly Placement[];
  checkpointsOf(job: TrainingJob): readonly Checkpoint[];
  capacityFor(job: TrainingJob): FabricCapacity;
  /** Holds a placement's GPUs against other jobs of this process until `release`. */
  reserve(placement: PlacementSpec): void;
  /** Gives up what was reserved for the job, if anything. */
  release(job: TrainingJob): void;

  /** State of each node; one that the cache lacks is looked up in the cluster before it is called gone. */
  readLiveNodeStates(nodes: readonly string[]): Promise<ReadonlyMap<string, NodeState>>;
  /** Reads a pod in the cluster and remembers it for `podsOf`, whoever owns it; false when there is none of that name. */
  readLivePod(job: TrainingJob, name: string): Promise<boolean>;

  /** Writes status, if the job is still the one that was observed; answers with the job as it is then. Conflict: observe again. */
  writeStatus(job: TrainingJob, status: TrainingJobStatus): Promise<TrainingJob>;
  addFinalizer(job: TrainingJob): Promise<void>;
  removeFinalizer(job: TrainingJob): Promise<void>;
  /** A taken name is success when it is the very same placement of this job, and an error otherwise. */
  createPlacement(job: TrainingJob, placement: { readonly name: string; readonly spec: PlacementSpec }): Promise<void>;
  deletePlacement(job: TrainingJob, placement: PodReference): Promise<void>;
  /** A taken name is read and remembered for `podsOf`, whoever owns it. */
  createPod(job: TrainingJob, manifest: Record<string, unknown>): Promise<void>;
  liftGate(job: TrainingJob, pod: PodReference): Promise<void>;
  /** Success when the pod of that UID is gone already. */
  deletePod(job: TrainingJob, pod: PodReference & { readonly gracePeriodSeconds: number }): Promise<void>;
  markCheckpointDamaged(job: TrainingJob, damaged: PodReference & { readonly message: string }): Promise<void>;
  /** Creates it and marks it complete; twice is once. */
  createCheckpoint(
    job: Pick<TrainingJob, 'metadata'>,
    checkpoint: { readonly name: string; readonly spec: CheckpointResourceSpec },
  ): Promise<void>;
}
