import type {
  CheckpointResourceSpec,
  CheckpointResourceStatus,
  ObjectReference,
  PlacementSpec,
  TrainingJob,
  TrainingJobStatus,
  ReadReferences,
} from '@coxswain/api-types';
import type { Condemnation } from '../failure/checkpoint-standing.ts';
import type { NodeState } from '../observation/observed.ts';
import type { LiveRead, PodReference } from '../decide/decision.ts';

/** A call to the cluster. Every write is idempotent, and is made for the version of the job in `job`. */
export type Call =
  /**
   * Read from the API server, not from a cache: the job, its own pods, the nodes, and pods of `podNames` and the named Placement of any owner. With
   * `allPlacements` also every Placement of the job. The view shows what was read from then on, and drops what the lists lack. States of the nodes
   * are in the answer.
   */
  | ({ readonly kind: 'readLive'; readonly job: TrainingJob } & LiveRead)
  /** Read the job and its Checkpoints from the API server; the view shows them from then on, and shows no others. */
  | { readonly kind: 'readCheckpoints'; readonly job: TrainingJob }
  /** Read again what verdicts about the gang stand on. The view shows those that still hold, with a new `readAt`. It never fails. */
  | { readonly kind: 'readEvidence'; readonly job: TrainingJob }
  /** Read the newest warning of the kubelet about that pod. The answer has none if there is none, or if it cannot be read. Never fails. */
  | { readonly kind: 'readPodWarning'; readonly job: TrainingJob; readonly pod: PodReference }
  /** Read which of these objects of the job's namespace pods cannot use. What cannot be read is left out of the answer. Never fails. */
  | { readonly kind: 'readReferences'; readonly job: TrainingJob; readonly references: readonly ObjectReference[] }
  /** Only if the job still has the resourceVersion of `job`. The answer holds the job after the write. */
  | { readonly kind: 'writeStatus'; readonly job: TrainingJob; readonly status: TrainingJobStatus }
  | { readonly kind: 'addFinalizer' | 'removeFinalizer'; readonly job: TrainingJob }
  | {
      readonly kind: 'createPlacement';
      readonly job: TrainingJob;
      readonly name: string;
      readonly spec: PlacementSpec;
      readonly ofClaim?: true;
    }
  /** A dry run, which creates nothing. Fails as `refused` if the cluster would refuse the pod. */
  | {
      readonly kind: 'probePod';
      readonly job: TrainingJob;
      readonly name: string;
      readonly podIndex: number;
      readonly placement: PlacementSpec;
    }
  /** Only the object of that UID and resourceVersion, like deletePod. */
  | { readonly kind: 'deleteCheckpoint'; readonly job: TrainingJob; readonly checkpoint: PodReference }
  | { readonly kind: 'deletePlacement'; readonly job: TrainingJob; readonly placement: PodReference }
  | {
      readonly kind: 'createPod';
      readonly job: TrainingJob;
      readonly name: string;
      readonly podIndex: number;
      readonly placement: PlacementSpec;
    }
  /** Succeeds if the job already owns one of that name; fails if the cluster has no ComputeDomains. */
  | { readonly kind: 'createComputeDomain'; readonly job: TrainingJob; readonly name: string; readonly epoch: number }
  /** Only the job's own; succeeds if there is none. */
  | { readonly kind: 'deleteComputeDomain'; readonly job: TrainingJob; readonly name: string }
  | { readonly kind: 'liftGate'; readonly job: TrainingJob; readonly pod: PodReference }
  /** Removes our finalizer from the pod of that UID. */
  | { readonly kind: 'releasePod'; readonly job: TrainingJob; readonly pod: PodReference }
  /**
   * Only the pod of that UID, and of that resourceVersion if one is given. A pod that has changed since stays, and the view shows its new
   * version.
   */
  | {
      readonly kind: 'deletePod';
      readonly job: TrainingJob;
      readonly pod: PodReference;
      readonly gracePeriodSeconds: number;
    }
  | {
      readonly kind: 'markCheckpointDamaged';
      readonly job: TrainingJob;
      readonly name: string;
      readonly uid: string;
      readonly message: string;
      readonly condemnation: Condemnation;
    }
  /** Replaces the status of the Checkpoint of that UID. */
  | {
      readonly kind: 'markCheckpoint';
      readonly job: TrainingJob;
      readonly name: string;
      readonly uid: string;
      readonly status: CheckpointResourceStatus;
    }
  | {
      readonly kind: 'createCheckpoint';
      readonly job: TrainingJob;
      readonly name: string;
      readonly spec: CheckpointResourceSpec;
    };

/** Why a call failed, as far as it changes the next action. */
export type FailureCause =
  /** Another writer was faster: observe again. */
  | 'conflict'
  /** The cluster refuses this object (quota, limits, policy, validity). */
  | 'refused'
  /** A webhook that must agree does not answer: retry later, and show why meanwhile. */
  | 'unadmitted'
  /** A user has to change something: a permission is missing, or a name is taken. */
  | 'needsPerson'
  /** The server is unavailable or busy, or this process no longer leads: retry later. */
  | 'transient';

/** The answer to a call. */
export type Answer =
  | {
      readonly kind: 'done';
      /** For writeStatus: the job after the write. */
      readonly job?: TrainingJob;
      /** For deletePod: the pod has changed since it was observed, and stays. */
      readonly isContested?: boolean;
      /** For readPodWarning. */
      readonly warning?: string;
      /** For readReferences. */
      readonly references?: ReadReferences;
      /** For readLive: states of the nodes. */
      readonly nodeStates?: ReadonlyMap<string, NodeState>;
    }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      readonly cause: FailureCause;
      /** The cluster's own sentence; absent: the error's message. */
      readonly message?: string;
    };

/** A call that failed. */
export type FailedAnswer = Extract<Answer, { readonly kind: 'failed' }>;

/** The cluster's sentence on a failed call. */
export function messageOf({ message, error }: Pick<FailedAnswer, 'message' | 'error'>): string {
  return message ?? (error instanceof Error ? error.message : String(error));
}

/** Whether the same call may succeed later although nothing is changed by a user. */
export function mayPassByItself({ cause }: Pick<FailedAnswer, 'cause'>): boolean {
  return cause === 'transient' || cause === 'unadmitted';
}

/** Work whose calls its runner makes: the calls of a batch run side by side, and all are answered before it continues. */
export type Calls<Result> = Generator<readonly Call[], Result, readonly Answer[]>;
