import type {
  AttemptPreflight,
  AttemptTrained,
  Checkpoint,
  Fingerprint,
  IncidentKind,
  LauncherState,
  Placement,
  PlacementSpec,
  RankOperation,
  ReasonOf,
  TerminationCause,
  TrainingJob,
} from '@coxswain/api-types';
import type { FabricCapacity } from '@coxswain/fabric';
import type { NodeCondition } from '@coxswain/health';
import type { FoundNodes, JobPlanAnswer, MeasuredGpus, NodeSearch } from '@coxswain/job-planning';
import type { ReadRuntime } from '@coxswain/runtime';
import type { NodeNotice } from '../notices/node-notices.ts';
import type { Retention } from './retention.ts';
import type { Timeouts } from './timeouts.ts';
import type { GangRequest, PlacementRefusal } from '@coxswain/scheduling';

/** One look at everything that concerns a job. Nothing here is an event; a later look replaces an earlier one. */
export interface Observed {
  /** As the API server holds it. Missing or nonsensical fields are treated as absent, never as an error. */
  readonly job: TrainingJob;
  /**
   * Every pod that the job owns or that carries its UID label, of any epoch, and every pod that bears one of the gang's names without being ours
   * (found when a create answers AlreadyExists).
   */
  readonly pods: readonly ObservedPod[];
  /** Placement objects that carry the job's UID, whoever made them, and what was found under a name that one of ours was to have. */
  readonly placements: readonly Placement[];
  /** Placement of this job that this process has reserved GPUs for and may not have created yet. */
  readonly reserved?: PlacementSpec;
  /** The Placement that status records of the attempt under way, as this process saw it before somebody deleted it; absent while it is there. */
  readonly keptPlacement?: PlacementSpec;
  /** Number of the leader's term; absent where nobody leads. */
  readonly leaderTerm?: number;
  /**
   * Nodes on which these pods of a placement of this job, none of them bound, have no room any more beside what others hold; all its pods unless told.
   * Absent: there are none.
   */
  readonly takenNodes?: (placement: PlacementSpec, podIndices?: readonly number[]) => readonly string[];
  /** Whether, beyond that, each of its nodes is there, ready and takes pods. Absent: they are. */
  readonly isReservable?: (placement: PlacementSpec) => boolean;
  /** What is known of the runtime that the spec names; absent: it was not asked for yet, or none is named. */
  readonly runtime?: ObservedRuntime;
  /** Checkpoint objects that carry the job's UID. */
  readonly checkpoints: readonly Checkpoint[];
  /** Free and taken GPUs, without this job's own terminal pods. Called at most once, and only for a job that is to be planned or placed. */
  readonly capacity: () => FabricCapacity;
  /** An earlier refusal of that request, while what refused it has not changed: then it need not be searched again. */
  readonly standingRefusal?: (request: GangRequest) => PlacementRefusal | undefined;
  /** What became of the last action findNodes, if it was that search. Absent: nodes are searched in the look itself. */
  readonly nodeSearch?: (search: NodeSearch) => ObservedNodeSearch;
  /** Whether another job waits for GPUs. Absent: none does. Asked for a job alone that runs on fewer than it asks for. */
  readonly doOthersWait?: () => boolean;
  /**
   * State of the nodes of the current epoch's placement, of the next one's, and of every pod of this job that is not terminal, whatever its
   * epoch: a pod of an earlier epoch on a node that does not answer is given up only if the node's state is told. No entry means ready.
   */
  readonly nodeStates: ReadonlyMap<string, NodeState>;
  /**
   * Job, pods and doubtful nodes were read from the API server for this look (the answer to action readLive): what is absent here does not
   * exist. Absence in a cache proves nothing.
   */
  readonly isProven?: boolean;
  /** The job's status is what the API server holds: read a moment ago, or written by this process over the version that it had seen. */
  readonly isStatusProven?: boolean;
  /** The job's checkpoints were read from the API server for this look (the answer to action readCheckpoints). */
  readonly areCheckpointsProven?: boolean;
  /** Pods that the cluster refused for good (quota, limits, policy), by name, with its words: an answer to action createPod. */
  readonly refusedPods?: ReadonlyMap<string, string>;
  /**
   * How long each thing that the last decision named in `timed` has lasted without a gap, in milliseconds, by a clock that never steps and
   * from the moment at which this process first saw it. No entry: first seen now.
   */
  readonly elapsedMs?: ReadonlyMap<string, number>;
  /** How often a delete of each pod found that it had changed since it was read, by the pod's UID. */
  readonly contested?: ReadonlyMap<string, number>;
  /** How long ago each pod's launcher was last heard, in milliseconds, by the pod's UID. No entry: never, or not by this process. */
  readonly heardMs?: ReadonlyMap<string, number>;
  /**
   * What each launcher that can start ranks again last said of its ranks, by its pod's UID. No entry: never, not to this process, or a launcher
   * that cannot; only what is said counts, for a connection may be lost.
   */
  readonly launchers?: ReadonlyMap<string, ObservedLauncher>;
  /** How many nodes there are, and how many are not ready; only asked where a node of the gang is not ready. */
  readonly nodeCensus?: () => NodeCensus;
  /** Which boot of a node this is, as its kubelet says; another one means that it was booted again or replaced. */
  readonly bootIdOf?: (node: string) => string | undefined;
  /** Since when a Node is ready, as it says: told apart from other such moments, and compared with no clock. Absent: it is not, or does not say. */
  readonly readySinceOf?: (node: string) => string | undefined;
  /** Conditions of a Node that are True, without Ready. */
  readonly nodeConditionsOf?: (node: string) => readonly NodeCondition[];
  /** Who says that a Node is about to go away; only asked of nodes that are leaving, for what people are told. */
  readonly noticeOf?: (node: string) => NodeNotice | undefined;
  /** Who says that a Node will go away, not yet so soon that its gangs leave. Absent: nobody does. */
  readonly comingNoticeOf?: (node: string) => NodeNotice | undefined;
  /** What detectors (of stragglers, of hangs) say of the gang. One of another epoch says nothing. */
  readonly verdicts?: readonly Verdict[];
  /** What detectors see of the gang, whether or not it is acted on. One of another run says nothing. */
  readonly findings?: readonly Finding[];
  /** What came of the look around before the first rank, once every pod of the gang has told. One of another epoch says nothing. */
  readonly preflight?: ObservedPreflight;
  /** What its ranks really train, held against the layout, once one has told. One of another epoch or incarnation says nothing. */
  readonly trained?: ObservedTrained;
  /** Whether nodes are asked for that do not exist yet, and what came of it. Absent: the job does not wait for any, or nobody looks. */
  readonly nodeRequest?: ObservedNodeRequest;
  /** What is said of nodes of the gang that is up otherwise than when it was placed, in a sentence. Absent: nothing. */
  readonly fabricChange?: string;
  /** Where the administrator's differ from the defaults. */
  readonly timeouts?: Partial<Timeouts>;
  readonly retention?: Partial<Retention>;
  /** What plans stand on beside what is usual; absent: nothing. */
  readonly measuredGpus?: MeasuredGpus;
  /** Writes to Checkpoints that the API server has refused, by {@link checkpointWriteKey}, as long as this process remembers it. */
  readonly refusedCheckpoints?: ReadonlyMap<string, RefusedWrite>;
  /** What the cluster said to a dry run of the next epoch's first pod: the answer to action probePod. */
  readonly podProbe?: { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly message: string };
  /** Newest report of the gang's steps that the operator holds in memory, if any. */
  readonly progress?: ObservedProgress;
  /** What became of the last action planJob, as long as this process remembers it. */
  readonly planning?: ObservedPlanning;
}

/** What a launcher last said of the ranks of its pod. */
export interface ObservedLauncher {
  readonly epoch: number;
  /** Newest that was assigned to it; 0 before the first. */
  readonly incarnation: number;
  readonly state: LauncherState;
  /** With state reaped, where a rank failed by itself; without where the ranks were ended by order. */
  readonly cause?: TerminationCause;
}

/** A write that is not made now, and need not be waited for. */
export interface RefusedWrite {
  /** The API server's words. */
  readonly message: string;
  /** When it is to be tried again; 0 or less: now. */
  readonly retryInMs: number;
}

/** A question to the planner, by its key, and its outcome. */
export type ObservedPlanning =
  | { readonly kind: 'asked'; readonly key: string }
  /** `answer` undefined: the planner has nothing to say of the job. */
  | { readonly kind: 'answered'; readonly key: string; readonly answer: JobPlanAnswer | undefined }
  /** It took too long, needed too much memory, or died. May be asked again from `retryAtMs` on (milliseconds since 1970). */
  | { readonly kind: 'failed'; readonly key: string; readonly problem: string; readonly retryAtMs: number };

/** For condition NodesRequested. */
export interface ObservedNodeRequest {
  readonly holds: boolean;
  readonly reason: ReasonOf<'NodesRequested'>;
  readonly message: string;
}

/** What became of a search of nodes. `found` may be older than the capacity that is shown: what it places is held against that when it is reserved. */
export type ObservedNodeSearch =
  { readonly kind: 'unasked' | 'searching' } | { readonly kind: 'found'; readonly found: FoundNodes };

/** Nodes of the whole cluster. */
export interface NodeCensus {
  readonly nodes: number;
  readonly notReady: number;
}

/** What the pods of a gang told before the first rank, judged (`libs/preflight`). */
export interface ObservedPreflight extends AttemptPreflight {
  readonly epoch: number;
  readonly fingerprint: Fingerprint;
  /** Nodes that are to blame, with the evidence; empty unless the outcome is NodesNamed. */
  readonly named: { readonly nodes: readonly string[]; readonly message: string };
}

/** What was found of what ranks really train, of the run that it names. */
export interface ObservedTrained extends AttemptTrained {
  readonly epoch: number;
}

/** Who is to blame, in a detector's opinion: the gang is ended, and the node (or that of the rank) is avoided. gang: it hangs, and no node is to blame. */
export interface Verdict {
  readonly epoch: number;
  /** Of one run of its ranks alone. Absent: of all. */
  readonly incarnation?: number;
  readonly about:
    | { readonly kind: 'node'; readonly node: string }
    | { readonly kind: 'rank'; readonly rank: number }
    | { readonly kind: 'gang' };
  /** One sentence with the evidence. */
  readonly message: string;
}

/** What a detector sees of one run of the ranks: an incident, from when it is recorded on. Told again and again it is the same one. */
export interface Finding {
  readonly epoch: number;
  readonly incarnation: number;
  readonly kind: IncidentKind;
  /** When this was noticed (RFC 3339), by the clock of the operator. */
  readonly noticedAt: string;
  /** Ascending; empty where no rank is to blame. */
  readonly ranks: readonly number[];
  /** Where all of them are on one. */
  readonly node?: string;
  readonly group?: string;
  readonly message: string;
  readonly evidence: Readonly<Record<string, number | string>>;
  readonly operations?: readonly RankOperation[];
  /** By how much it makes each step longer, in milliseconds; absent: not known. */
  readonly costMsPerStep?: number;
  /** Nobody has to do anything about it. */
  readonly isHarmless?: boolean;
  /** When the detector saw that it was over; absent: it is not, or the detector cannot tell. */
  readonly overAt?: string;
}

/** gone: the Node object does not exist. leaving: it is ready, and announced to go away soon. */
export type NodeState = 'ready' | 'leaving' | 'notReady' | 'gone';

export interface ObservedPod {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string;
  /** From the labels; both 0 for a pod that is not ours. */
  readonly epoch: number;
  readonly podIndex: number;
  /** Absent until the scheduler bound it. */
  readonly nodeName?: string;
  /** Still carries our scheduling gate. */
  readonly gated: boolean;
  /** Of the trainer, where that has ended and a container beside it has not. */
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  /** The trainer has ended, and a container beside it still runs: the pod is over, and its GPUs stay taken until somebody deletes it. */
  readonly lingers?: true;
  /** metadata.deletionTimestamp: set once a delete was accepted (time of the request plus grace). */
  readonly deletionTimestamp?: string;
  /** metadata.deletionGracePeriodSeconds: the grace that was asked for. */
  readonly deletionGracePeriodSeconds?: number;
  /** Carries our finalizer: even deleted it stays until its end is recorded. */
  readonly held: boolean;
  /** The trainer container is running (its launcher has started). */
  readonly running: boolean;
  /** Every init container has ended or runs, and the trainer's image is still awaited: it is being pulled. */
  readonly pullsImage?: true;
  /** Its controller owner is this job, by UID. */
  readonly ours: boolean;
  /** Why a container (init or trainer) does not start: state.waiting of the first one that has a reason other than PodInitializing or ContainerCreating. */
  readonly containerWaiting?: { readonly reason: string; readonly message: string; readonly image: string };
  /** state.terminated of the trainer, or of an init container that failed. */
  readonly exit?: ObservedExit;
  /** Reason of condition DisruptionTarget when True: EvictionByEvictionAPI, PreemptionByScheduler, DeletionByTaintManager, TerminationByKubelet, ... */
  readonly disruption?: string;
  /** status.reason, e.g. Evicted, NodeLost, OutOfcpu. */
  readonly statusReason?: string;
  /** status.message: what whoever gave that reason says of it. */
  readonly statusMessage?: string;
  /** Message of condition PodScheduled when False and the pod is not gated. */
  readonly schedulingMessage?: string;
}

export interface ObservedExit {
  readonly exitCode: number;
  readonly signal?: number;
  /** The container runtime's word: Completed, Error, OOMKilled, ContainerStatusUnknown, ... */
  readonly reason: string;
  /** RFC 3339; Kubernetes rounds it to seconds. */
  readonly finishedAt?: string;
  /** The launcher's termination message, where it parsed. */
  readonly cause?: TerminationCause;
}

/** What the API server said of a runtime when it was last asked; unknown: it has not answered yet. */
export type RuntimeAnswer =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'found'; readonly runtime: ReadRuntime }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly problem: string };

/** That, and what becomes of it. */
export type ObservedRuntime = RuntimeAnswer & {
  /** Young enough to begin an epoch with. */
  readonly isFresh: boolean;
  /** It is being asked again; the job is looked at when it has answered. */
  readonly isBeingRead: boolean;
};

/** Steps and speed as the launchers reported them. */
export interface ObservedProgress {
  /** Epoch that reported it; ignored unless it is the current one. */
  readonly epoch: number;
  /** Absent: the first. Ignored unless it is the current one. */
  readonly incarnation?: number;
  readonly step: number;
  readonly loss?: number;
  readonly tokensPerSecond?: number;
  readonly etaSeconds?: number;
  /** From the first step that was heard of to the newest: how many steps, how long, and how much of it inside of steps. */
  readonly pace?: { readonly fromStep: number; readonly elapsedMs: number; readonly inStepsMs: number };
}
