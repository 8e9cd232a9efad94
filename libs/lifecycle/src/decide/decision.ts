import type { CheckpointResourceSpec, PlacementSpec, TrainingJobStatus } from '@coxswain/api-types';
import type { JobPlanQuestion, NodeSearch } from '@coxswain/job-planning';
import type { GangRequest, PlacementRefusal } from '@coxswain/scheduling';
import type { Condemnation } from '../failure/checkpoint-trouble.ts';
import type { DerivedJobEvent } from './job-events.ts';

/**
 * What is to be done about a job. The contract with the performer, which makes intent precede effect across crashes:
 *
 * 1. Unless `readsFirst`, if `status` differs from what the API server holds (`isRecordedAs`), write it (with the resourceVersion that was observed), then
 *    announce `events` (best effort) and come back with what the server answered. No action is performed in this pass. A status that is refused
 *    is written bare of texts (`bareStatus`); if that is refused too, only `withoutRecord` is performed.
 * 2. Otherwise perform `actions` in order. Each is idempotent and justified by the recorded status alone.
 * 3. Come back when something is observed to change, and after `requeueAfterMs` at the latest if it is set.
 */
export interface Decision {
  readonly status: TrainingJobStatus;
  /** Nothing is written before the cluster has answered: the job had a status, and nothing of it is left. */
  readonly readsFirst?: true;
  /**
   * The placement that status records and that is still to be created. Its GPUs are reserved in the same synchronous step as the look; where
   * they cannot be, nothing is done and the job is looked at again.
   */
  readonly reserve?: PlacementSpec;
  readonly actions: readonly Action[];
  /** What people should know of objects that say to be of this job and are not; absent where there are none. The same text as long as they are the same. */
  readonly strangers?: string;
  /** What may be done although the API server refuses the status in every form; nothing but for a job that is being deleted. */
  readonly withoutRecord: readonly Action[];
  /** What the change of status means in plain words, for Kubernetes Events; empty when status does not change. */
  readonly events: readonly DerivedJobEvent[];
  /** What lasts, and has consequences when it has lasted long enough: `elapsedMs` of the next look says how long. Whether status was written or not. */
  readonly timed: readonly string[];
  /** What the fabric has just refused: to be remembered, and shown as `standingRefusal` until what refused it changes. */
  readonly refusal?: { readonly request: GangRequest; readonly refusal: PlacementRefusal };
  readonly requeueAfterMs?: number;
}

/** A pod (or another object) by name and UID, so that nothing of the same name and another UID is ever touched. */
export interface PodReference {
  readonly name: string;
  readonly uid: string;
  /** As it was when it was decided upon: a delete of one that has changed since is refused. */
  readonly resourceVersion?: string;
}

/** What is read from the API server beside the job and its pods. */
export interface LiveRead {
  readonly podNames: readonly string[];
  readonly nodes: readonly string[];
  /** Name of a Placement that is recorded and not seen. */
  readonly placement?: string;
  /** Whether every Placement that carries the job's UID label is read too: of a job whose status was lost they tell which numbers of epochs are taken. */
  readonly allPlacements?: true;
}

export type Action =
  | { readonly kind: 'addFinalizer' }
  | { readonly kind: 'removeFinalizer' }
  /**
   * Ask the planner, without waiting for it: show the question as `planning` of the job at once, its outcome when it is there, and look at the
   * job again then. A question that is under way for the job is ended.
   */
  | { readonly kind: 'planJob'; readonly question: JobPlanQuestion }
  /**
   * Search nodes for the gang, without waiting for it: show it as `nodeSearch` at once, the outcome when it is there, and look at the job again then. The
   * capacity is that of when its turn comes.
   */
  | { readonly kind: 'findNodes'; readonly search: NodeSearch }
  /** Read the runtime that the job names, without waiting for it: show it as being read at once, the outcome when it is there, and look at the job again then. */
  | { readonly kind: 'readRuntime' }
  /** End the job's question to the planner, and forget its outcome: nobody wants it, or it is recorded. */
  | { readonly kind: 'forgetPlanning' }
  /** Create with POST. AlreadyExists: read it live and show it among `placements` (the recorded one or not). */
  | { readonly kind: 'createPlacement'; readonly name: string; readonly spec: PlacementSpec }
  /** Only on what readCheckpoints has shown. The files stay. */
  | { readonly kind: 'deleteCheckpoints'; readonly checkpoints: readonly PodReference[] }
  | { readonly kind: 'deletePlacements'; readonly placements: readonly PodReference[] }
  /** Ask the cluster by a dry run whether it takes such a pod; show its answer as `podProbe`. */
  | { readonly kind: 'probePod'; readonly name: string; readonly podIndex: number; readonly placement: PlacementSpec }
  /** Create the gated pod of `podIndex`. AlreadyExists: read it live and show it among `pods` (ours or not). Refused for good: show it in `refusedPods`. */
  | { readonly kind: 'createPod'; readonly name: string; readonly podIndex: number; readonly placement: PlacementSpec }
  /**
   * Make the ComputeDomain of a gang whose runtime asks for one, of that name (`gangName`), owned by the job: its pods wait for their channels, so it
   * precedes them. One that is there and the job's is success.
   */
  | { readonly kind: 'createComputeDomain'; readonly name: string; readonly epoch: number }
  /** The gang has ended: its ComputeDomain goes, if there is one of the job's. */
  | { readonly kind: 'deleteComputeDomain'; readonly name: string }
  /**
   * Read the job, all its pods, the pods of these names, these nodes and that Placement (or all of the job) from the API server, then look again with `isProven`. Asked for before
   * anything is deleted, failed, charged or given up: a cache is good enough to create, never to destroy. It is always the only action.
   */
  | ({ readonly kind: 'readLive' } & LiveRead)
  /** Read the job and its checkpoints from the API server, then look again with `areCheckpointsProven`. It is always the only action. */
  | { readonly kind: 'readCheckpoints' }
  /**
   * The epoch is over and nothing of it is to be saved: tell every launcher of it that is connected, so that it ends its ranks before
   * the deletion of its pod asks them to save. Not a write; a launcher that does not hear it is refused when it reports.
   */
  | { readonly kind: 'refuseLaunchers'; readonly epoch: number }
  | { readonly kind: 'liftGates'; readonly pods: readonly PodReference[] }
  /** Remove our finalizer: their end is recorded, or says nothing. */
  | { readonly kind: 'releasePods'; readonly pods: readonly PodReference[] }
  | { readonly kind: 'deletePods'; readonly pods: readonly PodReference[]; readonly gracePeriodSeconds: number }
  | {
      readonly kind: 'markCheckpointDamaged';
      readonly name: string;
      readonly uid: string;
      readonly message: string;
      readonly condemnation: Condemnation;
    }
  /** A checkpoint that a launcher saved and could not report. AlreadyExists is success. */
  | { readonly kind: 'createCheckpoint'; readonly name: string; readonly spec: CheckpointResourceSpec };
