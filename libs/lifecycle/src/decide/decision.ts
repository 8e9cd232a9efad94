import type {
  CheckpointResourceSpec,
  CheckpointResourceStatus,
  ObjectReference,
  PlacementSpec,
  TrainingJobStatus,
} from '@coxswain/api-types';
import type { JobPlanQuestion, NodeSearch } from '@coxswain/job-planning';
import type { GangRequest, PlacementRefusal, JobName, QuotaAsked } from '@coxswain/scheduling';
import type { Condemnation } from '../failure/checkpoint-standing.ts';
import type { DerivedJobEvent } from './derived-job-event.ts';

/**
 * What to do about a job. The performer follows this contract, so that each intent is recorded before its effect, across crashes:
 *
 * 1. Unless `readsFirst` is set, compare `status` with what the API server holds (`isRecordedAs`). If they differ, write it with the
 * observed resourceVersion, record `events` (best effort), and decide again on the server's answer. Perform no action in this pass. If the
 * server refuses the status, write it without texts (`bareStatus`). If the server refuses that too, perform only `withoutRecord`. If that is
 * empty, or the server fails in another way than by a conflict, perform only `unrecorded`.
 * 2. Otherwise perform `actions` in order. Each is idempotent and justified by the recorded status alone.
 * 3. Reconcile again when an observed object changes, and at the latest after `requeueAfterMs`.
 */
export interface Decision {
  readonly status: TrainingJobStatus;
  /** Set if the job had a status and nothing of it is left. Then nothing is written before the cluster has answered. */
  readonly readsFirst?: true;
  /**
   * The placement that status records and that is not created yet. Its GPUs are reserved in the same synchronous step as the observation.
   * If that fails, nothing is done and the job is reconciled again.
   */
  readonly reserve?: PlacementSpec;
  /**
   * The placement of a claim that status records, or is to record, and that is not created yet. Its nodes are held in the same synchronous step as the
   * observation, although running jobs are still on them.
   */
  readonly claims?: PlacementSpec;
  readonly actions: readonly Action[];
  /**
   * A warning about Placements that name this job and are not in its status; absent: there are none. The text is equal as long as the
   * Placements are.
   */
  readonly unrecordedPlacements?: string;
  /** Actions that are allowed although the API server refuses every form of the status. Empty unless the job is being deleted. */
  readonly withoutRecord: readonly Action[];
  /** Actions that release GPUs while the API server does not accept the status. */
  readonly unrecorded: readonly Action[];
  /** What the change of status means, for Kubernetes Events; empty if status does not change. */
  readonly events: readonly DerivedJobEvent[];
  /**
   * Keys of conditions that have a consequence once they have lasted long enough. The next observation's `elapsedMs` holds their durations.
   * They are timed even if the status could not be written.
   */
  readonly timed: readonly string[];
  /** The request that was refused now. The scheduler keeps it, and `standingRefusal` returns it until its cause changes. */
  readonly refusal?: { readonly request: GangRequest; readonly refusal: PlacementRefusal };
  readonly requeueAfterMs?: number;
}

/** A pod (or another object) by name and UID, so that an object of the same name and another UID is never touched. */
export interface PodReference {
  readonly name: string;
  readonly uid: string;
  /** Version that the decision was based on: the API server refuses to delete a pod that has changed since. */
  readonly resourceVersion?: string;
}

/** What `readLive` reads beside the job and its pods. */
export interface LiveRead {
  readonly podNames: readonly string[];
  readonly nodes: readonly string[];
  /** Name of a Placement that status records and the cache lacks. */
  readonly placement?: string;
  /** Read again what verdicts about the gang stand on, too: how far its ranks are now. The view shows the verdicts that still hold. */
  readonly evidence?: true;
  /** Other jobs to read: those that are to make room, or the one that gets the nodes. */
  readonly jobs?: readonly JobName[];
  /** Read every Placement with the job's UID label too. If the status was lost, they show which epoch numbers are taken. */
  readonly allPlacements?: true;
}

/** An action of a decision. Each is idempotent. */
export type Action =
  | { readonly kind: 'addFinalizer' }
  | { readonly kind: 'removeFinalizer' }
  /**
   * Ask the planner without waiting. Show the question as `planning` of the job at once, and its outcome when it is there; then reconcile
   * the job again. A question of the job that is still running is cancelled.
   */
  | { readonly kind: 'planJob'; readonly question: JobPlanQuestion }
  /**
   * Search nodes for the gang without waiting. Show the search as `nodeSearch` at once, and its outcome when it is there; then reconcile
   * the job again. The search uses the capacity at the time of its turn.
   */
  | { readonly kind: 'findNodes'; readonly search: NodeSearch }
  /** Ask for quota for these pods, and say whether they have nodes. What is granted is shown as `quota` of a later observation. */
  | { readonly kind: 'askQuota'; readonly question: QuotaAsked }
  /**
   * Read the job's runtime without waiting. Show it as being read at once, and the outcome when it is there; then reconcile the job again.
   */
  | { readonly kind: 'readRuntime' }
  /** Cancel the job's question to the planner and drop its outcome: it is no longer needed, or it is recorded. */
  | { readonly kind: 'forgetPlanning' }
  /**
   * Create with POST. On AlreadyExists, read the Placement from the API server and show it among `placements`, whether or not it is the
   * recorded one.
   */
  | {
      readonly kind: 'createPlacement';
      readonly name: string;
      readonly spec: PlacementSpec;
      /** No attempt has begun with it: it is labelled as the Placement of a claim. */
      readonly ofClaim?: true;
    }
  /** Only checkpoints that `readCheckpoints` has shown. The files stay. */
  | { readonly kind: 'deleteCheckpoints'; readonly checkpoints: readonly PodReference[] }
  | { readonly kind: 'deletePlacements'; readonly placements: readonly PodReference[] }
  /** Check by a dry run whether the cluster accepts such a pod, and show the answer as `podProbe`. */
  | { readonly kind: 'probePod'; readonly name: string; readonly podIndex: number; readonly placement: PlacementSpec }
  /**
   * Create the gated pod of `podIndex`. On AlreadyExists, read it from the API server and show it among `pods`. On a permanent refusal,
   * show it in `refusedPods`.
   */
  | { readonly kind: 'createPod'; readonly name: string; readonly podIndex: number; readonly placement: PlacementSpec }
  /**
   * Create the ComputeDomain of a gang whose runtime asks for one, with that name (`gangName`) and owned by the job. The gang's pods wait
   * for its channels, so it comes before them. If the job already owns one of that name, the action succeeds.
   */
  | { readonly kind: 'createComputeDomain'; readonly name: string; readonly epoch: number }
  /** Delete the job's ComputeDomain of that name, if there is one: its gang has ended. */
  | { readonly kind: 'deleteComputeDomain'; readonly name: string }
  /**
   * Read from the API server: the job, all its pods, the named pods and nodes, and that Placement (or all of the job's). Then decide again
   * with `isProven`. This comes before anything is deleted, failed, charged or given up, because a cache is good enough to create and not
   * to destroy. It is always the only action.
   */
  | ({ readonly kind: 'readLive' } & LiveRead)
  /**
   * Read again what the verdicts about the gang stand on, although none of them ends it now. The view shows those that still hold, with a new `readAt`.
   */
  | { readonly kind: 'readEvidence' }
  /** Read the job and its checkpoints from the API server, then decide again with `areCheckpointsProven`. It is always the only action. */
  | { readonly kind: 'readCheckpoints' }
  /**
   * The attempt failed and its state must not be saved. Tell its connected launchers to end their ranks, before the deletion of their pods
   * asks them to save. This writes nothing. A launcher that misses the message is refused at its next report.
   */
  | { readonly kind: 'refuseLaunchers'; readonly epoch: number }
  /** Read what the kubelet reports about a pod that starts silently, then decide again with `podWarning`. It is never the ground of a failure. */
  | { readonly kind: 'readPodWarning'; readonly pod: PodReference }
  /** Read whether pods can use the objects that the job names, then decide again with `references`. It is never the ground of a failure. */
  | { readonly kind: 'readReferences'; readonly references: readonly ObjectReference[] }
  | { readonly kind: 'liftGates'; readonly pods: readonly PodReference[] }
  /** Remove our finalizer from pods whose end is recorded or does not matter. */
  | { readonly kind: 'releasePods'; readonly pods: readonly PodReference[] }
  | { readonly kind: 'deletePods'; readonly pods: readonly PodReference[]; readonly gracePeriodSeconds: number }
  | {
      readonly kind: 'markCheckpointDamaged';
      readonly name: string;
      readonly uid: string;
      readonly message: string;
      readonly condemnation: Condemnation;
    }
  /** Replace the status of a Checkpoint: it is suspect, or nothing is held against it any more. */
  | {
      readonly kind: 'markCheckpoint';
      readonly name: string;
      readonly uid: string;
      readonly status: CheckpointResourceStatus;
    }
  /** Create the object of a checkpoint that a launcher saved and could not report. AlreadyExists counts as success. */
  | { readonly kind: 'createCheckpoint'; readonly name: string; readonly spec: CheckpointResourceSpec };
