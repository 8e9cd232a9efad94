import type {
  Checkpoint,
  CheckpointResourceSpec,
  Placement,
  PlacementSpec,
  TrainingJob,
  TrainingJobStatus,
} from '@coxswain/api-types';
import type { FabricCapacity } from '@coxswain/fabric';
import type { Condemnation, NodeState, ObservedPod, PodReference } from '@coxswain/lifecycle';

/** A checkpoint that is not to be used again, with the evidence. */
export type DamagedCheckpoint = PodReference & { readonly message: string; readonly condemnation: Condemnation };

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

  /** State of each node as the cache has it; one that it lacks counts as gone. */
  nodeStates(nodes: readonly string[]): ReadonlyMap<string, NodeState>;
  /**
   * Reads from the API server the job, every pod that carries its UID label, the pods of those names whoever owns them, and the nodes, whose
   * states are the answer. `findJob` and `podsOf` show what was read from then on, and show no more what is not there.
   */
  readLive(
    job: TrainingJob,
    what: { readonly podNames: readonly string[]; readonly nodes: readonly string[] },
  ): Promise<ReadonlyMap<string, NodeState>>;

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
  /**
   * Success when the pod of that UID is gone already. One that has changed since `resourceVersion` is not deleted: `podsOf` shows it as it is
   * now, for another decision.
   */
  deletePod(job: TrainingJob, pod: PodReference & { readonly gracePeriodSeconds: number }): Promise<void>;
  markCheckpointDamaged(job: TrainingJob, damaged: DamagedCheckpoint): Promise<void>;
  /** Creates it and marks it complete; twice is once. */
  createCheckpoint(
    job: Pick<TrainingJob, 'metadata'>,
    checkpoint: { readonly name: string; readonly spec: CheckpointResourceSpec },
  ): Promise<void>;
}
