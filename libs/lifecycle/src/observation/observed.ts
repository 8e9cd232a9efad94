import type {
  AttemptPreflight,
  AttemptTrained,
  Checkpoint,
  Fingerprint,
  IncidentKind,
  Placement,
  PlacementSpec,
  RankOperation,
  ReasonOf,
  TerminationCause,
  TrainingJob,
} from '@coxswain/api-types';
import type { Fabric, FabricCapacity } from '@coxswain/fabric';
import type { NodeCondition, Standing } from '@coxswain/health';
import type { FoundNodes, JobPlanAnswer, MeasuredGpus, NodeSearch } from '@coxswain/job-planning';
import type { ReadRuntime } from '@coxswain/runtime';
import type { EndProposal, Ruling } from '../arbiter/judge-ends.ts';
import type { ClaimOnJob } from './claims.ts';
import type { Hearing } from './hearing.ts';
import type { ObservedLauncher } from './observed-launcher.ts';
import type { ObservedReferences } from './references.ts';
import type { PodWarning } from './pod-warnings.ts';
import type { RefusedCall } from './refused-calls.ts';
import type { NodeNotice } from '../notices/node-notices.ts';
import type { Retention } from './retention.ts';
import type { Timeouts } from './timeouts.ts';
import type {
  ClaimChoice,
  GangRequest,
  JobQuota,
  NodePromise,
  PlacementRefusal,
  PriorityClassFacts,
  RightOfReturn,
} from '@coxswain/scheduling';

/** One observation of everything that concerns a job. Nothing in it is an event; a later observation replaces an earlier one. */
export interface Observed {
  /** The job as the cache holds it. Missing and nonsensical fields count as absent, never as an error. */
  readonly job: TrainingJob;
  /**
   * Every pod that the job owns or that carries its UID label, of any attempt; and pods of other owners that have a name of the gang (found
   * when a create answers AlreadyExists).
   */
  readonly pods: readonly ObservedPod[];
  /** Placements that carry the job's UID, of any author; and objects found under a name that a placement of the job was to have. */
  readonly placements: readonly Placement[];
  /** The placement that this process has reserved for the job and may not have created yet. */
  readonly reserved?: PlacementSpec;
  /** The current attempt's recorded Placement as this process observed it before its deletion; absent: it exists. */
  readonly keptPlacement?: PlacementSpec;
  /** Number of the leader's term; absent: this process does not lead. */
  readonly leaderTerm?: number;
  /**
   * Nodes whose free GPUs are too few for these unbound pods of a placement of this job (default: all its pods). Absent: none.
   */
  readonly takenNodes?: (placement: PlacementSpec, podIndices?: readonly number[]) => readonly string[];
  /** Whether each of its nodes also exists, is ready and is schedulable. Absent: they are. */
  readonly isReservable?: (placement: PlacementSpec) => boolean;
  /** The runtime that the spec names; absent: it was not read yet, or none is named. */
  readonly runtime?: ObservedRuntime;
  /** Every PriorityClass of the cluster. Absent: unknown, so the recorded priority stays. */
  readonly priorityClasses?: readonly PriorityClassFacts[];
  /** Checkpoint objects that carry the job's UID. */
  readonly checkpoints: readonly Checkpoint[];
  /** Free and taken GPUs, without this job's own ended pods. Called at most once, and only if the job is to be planned or placed. */
  readonly capacity: () => FabricCapacity;
  /** An earlier refusal of that request, while its cause has not changed; the search is then skipped. */
  readonly standingRefusal?: (request: GangRequest) => PlacementRefusal | undefined;
  /** The nodes that are held for this job; `deriving` while that is not known yet. Absent: none are. */
  readonly promise?: () => NodePromise | 'deriving' | undefined;
  /** Whether nodes are held for a job ahead of this one, which this one may not use. Absent: none are. */
  readonly areNodesHeld?: () => boolean;
  /** How many jobs wait for GPUs. Absent: few. */
  readonly waitingCount?: () => number;
  /** Which windows of the Fabric keep this job off nodes, in a sentence. Absent, undefined: none does. */
  readonly closedNodes?: () => string | undefined;
  /**
   * Which running jobs may make room for this one, which waits with that request. Absent: the administrator turned this off. Called only for a job that waits
   * and whose class preempts.
   */
  readonly makeRoom?: (request: GangRequest) => ClaimChoice;
  /** Claims of other jobs that name this one. Absent: there are none. Called only for a job whose gang is up. */
  readonly claimsOnJob?: () => readonly ClaimOnJob[];
  /** The right of this job to get the nodes back that it left for another one. Absent, undefined: it has none. */
  readonly returnRight?: () => RightOfReturn | undefined;
  /** UIDs of the other jobs that were read from the API server for this observation (`jobs` of readLive). */
  readonly provenJobs?: ReadonlySet<string>;
  /** State of the last action findNodes, if it was that search. Absent: nodes are searched synchronously. */
  readonly nodeSearch?: (search: NodeSearch) => ObservedNodeSearch;
  /** Whether another job waits for GPUs. Absent: none does. Called only for a job that runs on fewer GPUs than it asks for. */
  readonly doOthersWait?: () => boolean;
  /**
   * State of the nodes of the current placement, of the next one, and of every non-terminal pod of the job of any attempt. A pod of an
   * earlier attempt on an unreachable node is given up only if its node's state is in this map. No entry: ready.
   */
  readonly nodeStates: ReadonlyMap<string, NodeState>;
  /**
   * Job, pods and doubtful nodes were read from the API server for this observation (answer to readLive): what it lacks does not exist.
   * Absence in a cache proves nothing.
   */
  readonly isProven?: boolean;
  /** What verdicts stand on was read again with it. Absent: there is nothing to read. */
  readonly isEvidenceProven?: boolean;
  /** The job's status is what the API server holds: read a moment ago, or written by this process over the version that it had read. */
  readonly isStatusProven?: boolean;
  /** The job's checkpoints were read from the API server for this observation (answer to readCheckpoints). */
  readonly areCheckpointsProven?: boolean;
  /** A quota of pod objects has just refused a pod of some job of the namespace. Absent: none has. */
  readonly isShortOfPods?: boolean;
  /** Pods and Placements that the cluster permanently refused (quota, limits, policy), by name, with its message: an answer to their creation. */
  readonly refusedPods?: ReadonlyMap<string, string>;
  /**
   * How long each wait that the last decision named in `timed` has lasted without a gap, in milliseconds. It is measured by a monotonic
   * clock from when this process first observed it. No entry: first observed now.
   */
  readonly elapsedMs?: ReadonlyMap<string, number>;
  /** How often a delete of each pod was refused because the pod had changed since it was read, by the pod's UID. */
  readonly contested?: ReadonlyMap<string, number>;
  /** Milliseconds since each launcher's last report, by its pod's UID. No entry: no report, or none to this process. */
  readonly reportAgesMs?: ReadonlyMap<string, number>;
  /**
   * Last report of each launcher that can restart ranks, by its pod's UID. No entry: no report, none to this process, or the launcher
   * cannot. Only reports count, because a connection may be lost.
   */
  readonly launchers?: ReadonlyMap<string, ObservedLauncher>;
  /** How many nodes exist, and how many are not ready; only called if a node of the gang is not ready. */
  readonly nodeCensus?: () => NodeCensus;
  /** The node's boot ID, as its kubelet reports it; another value means that it was rebooted or replaced. */
  readonly bootIdOf?: (node: string) => string | undefined;
  /**
   * Since when a Node is ready, as its condition says. Values are compared with each other for order and never with a clock. Absent: it is
   * not ready, or does not say.
   */
  readonly readySinceOf?: (node: string) => string | undefined;
  /** Conditions of a Node that are True, except Ready. */
  readonly nodeConditionsOf?: (node: string) => readonly NodeCondition[];
  /** The notice that a Node is about to go away; only called for leaving nodes, and for nodes that may have room for others. */
  readonly noticeOf?: (node: string) => NodeNotice | undefined;
  /** The notice that a Node will go away, later than its gangs leave. Absent: there is none. */
  readonly comingNoticeOf?: (node: string) => NodeNotice | undefined;
  /** Verdicts of detectors (stragglers, hangs) about the gang. Verdicts of another attempt are ignored. */
  readonly verdicts?: readonly Verdict[];
  /** The arbiter's ruling on an unrequested end. Equal proposals get equal rulings. Absent: every end is granted. */
  readonly ruleOnEnd?: (proposal: EndProposal) => Ruling;
  /** How many launchers of all gangs this process hears; only called for a verdict that stands on silence. Absent: unknown. */
  readonly hearing?: () => Hearing;
  /** Findings of detectors about the gang, acted on or not. Findings of another run are ignored. */
  readonly findings?: readonly Finding[];
  /** Where the gang stands if it does not train. That of another run is ignored. */
  readonly standing?: ObservedStanding;
  /** Result of preflight, once every pod of the gang has reported. A result of another attempt is ignored. */
  readonly preflight?: ObservedPreflight;
  /**
   * What the ranks really train, compared with the layout, once a rank has reported. A result of another attempt or incarnation is ignored.
   */
  readonly trained?: ObservedTrained;
  /** What the job may do by its quota. Absent: it is not queued. */
  readonly quota?: JobQuota;
  /** State of a request for nodes that do not exist yet. Absent: the job waits for none, or no controller requests any. */
  readonly nodeRequest?: ObservedNodeRequest;
  /** A sentence on how labels of the gang's nodes differ from those at its placement. Absent: they do not. */
  readonly fabricChange?: string;
  /** Values that the administrator has set; the rest is default. */
  readonly timeouts?: Partial<Timeouts>;
  readonly retention?: Partial<Retention>;
  /** Measured facts about GPUs that plans use; absent: none. */
  readonly measuredGpus?: MeasuredGpus;
  /** Writes to Checkpoints that the API server has refused, by {@link checkpointWriteKey}, as long as this process remembers them. */
  readonly refusedCheckpoints?: ReadonlyMap<string, RefusedWrite>;
  /** Other writes that the API server has denied since they last succeeded, as long as this process remembers them. */
  readonly refusedCalls?: readonly RefusedCall[];
  /** For how long this process could not write a status of the job; absent: the last write succeeded, or there was none. */
  readonly unwrittenMs?: number;
  /** The last read of what kubelets report about a pod that starts silently (action readPodWarning). Absent: this process reads none. */
  readonly podWarning?: PodWarning | 'unread';
  /** The last live read of the objects that the job names (action readReferences). Absent: this process reads none. */
  readonly references?: ObservedReferences | 'unread';
  /** The cluster's answer to a dry run of the next attempt's first pod (action probePod). */
  readonly podProbe?: { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly message: string };
  /** The newest report of the gang's steps in the operator's memory, if any. */
  readonly progress?: ObservedProgress;
  /** State of the last action planJob, as long as this process remembers it. */
  readonly planning?: ObservedPlanning;
}

/** A refused write, which is not repeated now and delays nothing. */
export interface RefusedWrite {
  /** The API server's message. */
  readonly message: string;
  /** Milliseconds until the next try; 0 or less: now. */
  readonly retryInMs: number;
}

/** A question to the planner, by its key, and its outcome. */
export type ObservedPlanning =
  | { readonly kind: 'asked'; readonly key: string }
  /** `answer` undefined: the planner has no answer for the job. */
  | { readonly kind: 'answered'; readonly key: string; readonly answer: JobPlanAnswer | undefined }
  /** It took too long, needed too much memory, or died. May be asked again from `retryAtMs` on (milliseconds since 1970). */
  | { readonly kind: 'failed'; readonly key: string; readonly problem: string; readonly retryAtMs: number };

/** For condition NodesRequested. */
export interface ObservedNodeRequest {
  readonly holds: boolean;
  readonly reason: ReasonOf<'NodesRequested'>;
  readonly message: string;
}

/** What became of a search of nodes. The capacity may have changed since: `searched` is the fabric that the search read. */
export type ObservedNodeSearch =
  | { readonly kind: 'unasked' | 'searching' }
  | {
      readonly kind: 'found';
      readonly found: FoundNodes;
      readonly searched: Fabric;
      /** How often GPUs had become free when it began. */
      readonly rises: number;
    };

/** Nodes of the whole cluster. */
export interface NodeCensus {
  readonly nodes: number;
  readonly notReady: number;
}

/** What the pods of a gang reported before the first rank, with its judgement (`libs/preflight`). */
export interface ObservedPreflight extends AttemptPreflight {
  readonly epoch: number;
  readonly fingerprint: Fingerprint;
  /** Blamed nodes, with the evidence; empty unless the outcome is NodesNamed. */
  readonly named: { readonly nodes: readonly string[]; readonly message: string };
}

/** What the ranks of the named run really train. */
export interface ObservedTrained extends AttemptTrained {
  readonly epoch: number;
}

/** A detector's verdict. The gang is ended, and the blamed node (or the rank's node) is avoided. gang: it hangs, and no node is blamed. */
export interface Verdict {
  readonly epoch: number;
  /** The run that it is about; absent: all runs of the attempt. */
  readonly incarnation?: number;
  readonly about:
    | { readonly kind: 'node'; readonly node: string }
    | { readonly kind: 'rank'; readonly rank: number }
    | { readonly kind: 'gang' };
  /** One sentence with the evidence. */
  readonly message: string;
  /** Absent: others wait for it. */
  readonly cause?: 'slow';
  /** When what it stands on began (RFC 3339, by the operator's clock). Absent: now. */
  readonly beganAt?: string;
  /** Newest step that the gang had completed when it was judged. Steps after it refute the verdict. Absent: no step does. */
  readonly atStep?: number;
  /** No node is to blame, and nothing is charged. Absent: `about` is to blame. */
  readonly blamesNobody?: true;
  /** It stands on silence only. */
  readonly isSilence?: true;
  /** When what it stands on was read last (RFC 3339, by the operator's clock). Absent: it cannot be read again. */
  readonly readAt?: string;
  /** Why nothing follows from it now: a sentence without its full stop. Absent: something does. */
  readonly held?: string;
}

/** A detector's finding about one run, which becomes an incident. A repeated finding is the same incident. */
export interface Finding {
  readonly epoch: number;
  readonly incarnation: number;
  readonly kind: IncidentKind;
  /** When it was detected (RFC 3339), by the operator's clock. */
  readonly noticedAt: string;
  /** Blamed ranks, ascending; empty: none. */
  readonly ranks: readonly number[];
  /** The node, if all these ranks are on one. */
  readonly node?: string;
  readonly group?: string;
  /** Distinguishes findings of one kind that name neither ranks nor a group. */
  readonly subject?: string;
  readonly message: string;
  readonly evidence: Readonly<Record<string, number | string>>;
  readonly operations?: readonly RankOperation[];
  /** Milliseconds that it adds to each step; absent: unknown. */
  readonly costMsPerStep?: number;
  /** No action is needed. */
  readonly isHarmless?: boolean;
  /** When the detector observed its end; absent: it lasts, or the detector cannot observe its end. */
  readonly overAt?: string;
}

/** Where one run of a gang stands that does not train, according to its launchers. */
export interface ObservedStanding extends Standing {
  readonly epoch: number;
  readonly incarnation: number;
}

/** gone: the Node object does not exist. leaving: the Node is ready and announced to go away soon. */
export type NodeState = 'ready' | 'leaving' | 'notReady' | 'gone';

/** A pod as the rules use it. */
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
  /** The pod's phase; that of the trainer, if it has ended and a sidecar has not. */
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  /** The trainer has ended and a sidecar still runs. The pod is over, and its GPUs stay taken until it is deleted. */
  readonly lingers?: true;
  /** metadata.deletionTimestamp: set once a delete was accepted (time of the request plus grace). */
  readonly deletionTimestamp?: string;
  /** metadata.deletionGracePeriodSeconds: the requested grace period. */
  readonly deletionGracePeriodSeconds?: number;
  /** The pod has our finalizer, so it stays after a delete until its end is recorded. */
  readonly held: boolean;
  /** The trainer container is running (its launcher has started). */
  readonly running: boolean;
  /** The trainer's image is being pulled: every init container has ended or runs, and the trainer does not. */
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
  /** status.message: the explanation of that reason. */
  readonly statusMessage?: string;
  /** Message of condition PodScheduled when False and the pod is not gated. */
  readonly schedulingMessage?: string;
}

/** The end of a pod's trainer, or of an init container that failed. */
export interface ObservedExit {
  readonly exitCode: number;
  readonly signal?: number;
  /** The container runtime's reason: Completed, Error, OOMKilled, ContainerStatusUnknown, ... */
  readonly reason: string;
  /** RFC 3339; Kubernetes rounds it to seconds. */
  readonly finishedAt?: string;
  /** The launcher's termination message, if it could be parsed. */
  readonly cause?: TerminationCause;
}

/** The API server's last answer about a runtime; unknown: it has not answered yet. */
export type RuntimeAnswer =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'found'; readonly runtime: ReadRuntime }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly problem: string };

/** That answer, its age and whether it is being read again. */
export type ObservedRuntime = RuntimeAnswer & {
  /** Recent enough to begin an attempt with. */
  readonly isFresh: boolean;
  /** It is being read again; the job is reconciled when the answer is there. */
  readonly isBeingRead: boolean;
};

/** Steps and speed as launchers reported them. */
export interface ObservedProgress {
  /** Epoch of the report; ignored unless it is the current one. */
  readonly epoch: number;
  /** Absent: the first. Ignored unless it is the current one. */
  readonly incarnation?: number;
  readonly step: number;
  /** When it was received, and the first step of these ranks, in milliseconds since 1970. Absent: unknown. */
  readonly stepAtMs?: number;
  readonly first?: { readonly step: number; readonly atMs: number };
  /** Milliseconds since this process learned of the step. Absent: unknown. */
  readonly ageMs?: number;
  readonly loss?: number;
  readonly tokensPerSecond?: number;
  readonly etaSeconds?: number;
  /** From the first reported step to the newest: number of steps, elapsed time, and time inside steps. */
  readonly pace?: { readonly fromStep: number; readonly elapsedMs: number; readonly inStepsMs: number };
}
