import type { PodDemand } from '@coxswain/scheduling';
import type {
  Checkpoint,
  CheckpointResourceSpec,
  CheckpointResourceStatus,
  ObjectReference,
  Placement,
  PlacementSpec,
  TrainingJob,
  TrainingJobStatus,
  ReadReferences,
} from '@coxswain/api-types';
import type { NodeCondition } from '@coxswain/health';
import type {
  Condemnation,
  LiveRead,
  NodeCensus,
  NodeNotice,
  NodeState,
  ObservedPod,
  PodReference,
} from '@coxswain/lifecycle';

/** A checkpoint that is not to be used again, with the evidence. */
export type DamagedCheckpoint = PodReference & { readonly message: string; readonly condemnation: Condemnation };

/** A gang's ComputeDomain, named like the gang. */
export interface ComputeDomainName {
  readonly name: string;
  readonly epoch: number;
}

/** A Checkpoint that is to be made, with what is known of its bytes. */
export interface NewCheckpoint extends Pick<CheckpointResourceStatus, 'verification' | 'contents' | 'progress'> {
  readonly name: string;
  readonly spec: CheckpointResourceSpec;
}

type Inspection = Pick<
  CheckpointResourceStatus,
  'verification' | 'contents' | 'progress' | 'files' | 'retention' | 'absent'
>;

/** What a status says of the bytes, and of retention. Whatever else is found about a checkpoint leaves it as it is. */
export function inspectionOf({ verification, contents, progress, files, retention, absent }: Inspection): Inspection {
  return {
    ...(verification === undefined ? {} : { verification }),
    ...(contents === undefined ? {} : { contents }),
    ...(progress === undefined ? {} : { progress }),
    ...(files === undefined ? {} : { files }),
    ...(retention === undefined ? {} : { retention }),
    ...(absent === undefined ? {} : { absent }),
  };
}

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
  /** The recorded Placement of the current attempt if it was deleted and is known; undefined while it exists. */
  keptPlacementOf(job: TrainingJob): PlacementSpec | undefined;
  /** State of each node as the cache has it; one that it lacks counts as gone. */
  nodeStates(nodes: readonly string[], namespace?: string): ReadonlyMap<string, NodeState>;
  /** Nodes of the whole cluster, and those of them that are not ready. */
  nodeCensus(): NodeCensus;
  /** Which boot of that node this is; undefined when the cache has no such node. */
  bootIdOf(node: string): string | undefined;
  /** Time since when the node is ready; undefined if it is not ready, has no time, or is not in the cache. */
  readySinceOf(node: string): string | undefined;
  /** Conditions of that node that hold, without Ready; none when the cache has no such node. */
  nodeConditionsOf(node: string): readonly NodeCondition[];
  /** Notice that the node is about to go away; undefined without one, or if it is not in the cache. */
  noticeOf(node: string, namespace?: string): NodeNotice | undefined;
  /** Notice that the node will go away later, so that its gangs need not leave yet; undefined without one. */
  comingNoticeOf(node: string, namespace?: string): NodeNotice | undefined;
  /**
   * Reads from the API server: the job, every pod that it owns, the named pods and the Placement of any owner, the named other jobs, and the nodes. Returns the states of
   * the nodes. From then on `findJob`, `podsOf` and `placementsOf` return what was read, and nothing that no longer exists.
   */
  readLive(job: TrainingJob, what: LiveRead): Promise<ReadonlyMap<string, NodeState>>;

  /** Reads the job and its Checkpoints from the API server; `findJob` and `checkpointsOf` show what was read from then on, and no others. */
  readCheckpoints(job: TrainingJob): Promise<void>;

  /**
   * Reads the objects of the job's namespace from the API server and returns those that pods cannot use, and claims that one node alone can mount. An
   * object that cannot be read, for example for lack of a right, is in neither list. Never rejects.
   */
  readReferences(job: TrainingJob, references: readonly ObjectReference[]): Promise<ReadReferences>;

  /** Reads the newest warning about the pod from its Events; undefined: there is none, or it cannot be read. Never rejects. */
  readPodWarning(job: TrainingJob, pod: PodReference): Promise<string | undefined>;

  /** Writes status, if the job is still the one that was observed; answers with the job as it is then. Conflict: observe again. */
  writeStatus(job: TrainingJob, status: TrainingJobStatus): Promise<TrainingJob>;
  addFinalizer(job: TrainingJob): Promise<void>;
  removeFinalizer(job: TrainingJob): Promise<void>;
  /** If the name is taken, reads that Placement, of any creator, for `placementsOf`. */
  createPlacement(
    job: TrainingJob,
    placement: { readonly name: string; readonly spec: PlacementSpec; readonly ofClaim?: true },
  ): Promise<void>;
  deletePlacement(job: TrainingJob, placement: PodReference): Promise<void>;
  /**
   * A dry run of `createPod`. Fails if the cluster would reject the pod, or if a quota has no room for all pods of the gang; succeeds if that is
   * unknown. With `computeDomain` that is tried first.
   */
  probePod(
    job: TrainingJob,
    manifest: Record<string, unknown>,
    options: { readonly computeDomain: ComputeDomainName | undefined; readonly gang: PodDemand },
  ): Promise<void>;
  /** If the name is taken, reads that pod, of any owner, for `podsOf`. */
  createPod(job: TrainingJob, manifest: Record<string, unknown>): Promise<void>;
  /** The job's ComputeDomain of that name; one that is there is success if the job owns it. */
  createComputeDomain(job: TrainingJob, domain: ComputeDomainName): Promise<void>;
  /** Succeeds if there is none, or if the one of that name belongs to another job. */
  deleteComputeDomain(job: TrainingJob, name: string): Promise<void>;
  liftGate(job: TrainingJob, pod: PodReference): Promise<void>;
  /** Removes our finalizer; success when it is gone already, or the pod of that UID is. */
  releasePod(job: TrainingJob, pod: PodReference): Promise<void>;
  /**
   * Success when the pod of that UID is gone already. One that has changed since `resourceVersion` is not deleted, and answers `changed`: `podsOf`
   * shows it as it is now, for another decision.
   */
  deletePod(
    job: TrainingJob,
    pod: PodReference & { readonly gracePeriodSeconds: number },
  ): Promise<'deleted' | 'changed'>;
  markCheckpointDamaged(job: TrainingJob, damaged: DamagedCheckpoint): Promise<void>;
  /** Replaces the status of the one of that UID, but for what it says of the bytes. */
  markCheckpoint(
    job: TrainingJob,
    checkpoint: PodReference & { readonly status: CheckpointResourceStatus },
  ): Promise<void>;
  /** Success when the one of that UID is gone already. One that has changed since `resourceVersion` stays, and is shown as it is now. */
  deleteCheckpoint(job: TrainingJob, checkpoint: PodReference): Promise<void>;
  /** Creates it and marks it complete; twice is once. */
  createCheckpoint(job: Pick<TrainingJob, 'metadata'>, checkpoint: NewCheckpoint): Promise<void>;
}
