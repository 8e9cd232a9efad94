import type { CheckpointResourceSpec, PlacementSpec, TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import type { Condemnation } from '../failure/checkpoint-trouble.ts';
import type { NodeState } from '../observation/observed.ts';
import type { LiveRead, PodReference } from '../decide/decision.ts';

/** One thing that only the cluster can answer. Every write is idempotent, and made for the job as `job` shows it. */
export type Call =
  /**
   * Read from the API server, not from a cache: the job, every pod that it owns, the pods of `podNames` and the Placement of
   * that name whoever owns them, every Placement of the job if `allPlacements`, and the nodes. What was read is shown by the view from then on, and what a list lacks is shown no more; the nodes' states come with the answer.
   */
  | ({ readonly kind: 'readLive'; readonly job: TrainingJob } & LiveRead)
  /** Read the job and its Checkpoints from the API server; the view shows them from then on, and shows no others. */
  | { readonly kind: 'readCheckpoints'; readonly job: TrainingJob }
  /** Only over the resourceVersion of `job`. Answers with the job as it is then. */
  | { readonly kind: 'writeStatus'; readonly job: TrainingJob; readonly status: TrainingJobStatus }
  | { readonly kind: 'addFinalizer' | 'removeFinalizer'; readonly job: TrainingJob }
  | {
      readonly kind: 'createPlacement';
      readonly job: TrainingJob;
      readonly name: string;
      readonly spec: PlacementSpec;
    }
  /** A dry run: nothing is made. Fails as `refused` where the cluster would refuse the pod. */
  | {
      readonly kind: 'probePod';
      readonly job: TrainingJob;
      readonly name: string;
      readonly podIndex: number;
      readonly placement: PlacementSpec;
    }
  /** Only the one of that UID and resourceVersion, as deletePod. */
  | { readonly kind: 'deleteCheckpoint'; readonly job: TrainingJob; readonly checkpoint: PodReference }
  | { readonly kind: 'deletePlacement'; readonly job: TrainingJob; readonly placement: PodReference }
  | {
      readonly kind: 'createPod';
      readonly job: TrainingJob;
      readonly name: string;
      readonly podIndex: number;
      readonly placement: PlacementSpec;
    }
  /** One of that name that is the job's is success; where the cluster knows no ComputeDomains it fails. */
  | { readonly kind: 'createComputeDomain'; readonly job: TrainingJob; readonly name: string; readonly epoch: number }
  /** Only the job's own; success where there is none. */
  | { readonly kind: 'deleteComputeDomain'; readonly job: TrainingJob; readonly name: string }
  | { readonly kind: 'liftGate'; readonly job: TrainingJob; readonly pod: PodReference }
  /** Removes our finalizer from the pod of that UID. */
  | { readonly kind: 'releasePod'; readonly job: TrainingJob; readonly pod: PodReference }
  /** Only the pod of that UID, and of that resourceVersion where one is given. One that has changed since stays, and the view shows it as it is now. */
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
  | {
      readonly kind: 'createCheckpoint';
      readonly job: TrainingJob;
      readonly name: string;
      readonly spec: CheckpointResourceSpec;
    };

/** Why a call failed, as far as it changes what is done next. */
export type FailureCause =
  /** Somebody else was faster: look again. */
  | 'conflict'
  /** The cluster will not have this object (quota, limits, policy, validity). */
  | 'refused'
  /** Somebody has to change something: a right is missing, a name is taken. */
  | 'needsPerson'
  /** The server is away or busy, or this process leads no longer: later. */
  | 'transient';

/** What became of a call. */
export type Answer =
  | {
      readonly kind: 'done';
      /** Of writeStatus: the job as it is now. */
      readonly job?: TrainingJob;
      /** Of deletePod: it has changed since it was looked at, and stays. */
      readonly isContested?: boolean;
      /** Of readLive. */
      readonly nodeStates?: ReadonlyMap<string, NodeState>;
    }
  | { readonly kind: 'failed'; readonly error: unknown; readonly cause: FailureCause };

/** A piece of work in the hands of whoever makes its calls: those of one batch side by side, all answered before it goes on. */
export type Calls<Result> = Generator<readonly Call[], Result, readonly Answer[]>;
