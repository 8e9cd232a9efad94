import type { Checkpoint, Placement, PlacementSpec, TrainingJob } from '@coxswain/api-types';
import type { NodeCondition } from '@coxswain/health';
import type { JobPlanQuestion, MeasuredGpus, NodeSearch } from '@coxswain/job-planning';
import type {
  ClusterScheduler,
  GangRequest,
  JobQuota,
  PriorityClassFacts,
  ClaimChoice,
  QuotaAsked,
} from '@coxswain/scheduling';
import type { EndArbiter } from '../arbiter/end-arbiter.ts';
import type { Decision } from '../decide/decision.ts';
import type { ClaimOnJob } from '../observation/claims.ts';
import type { NodeNotice } from '../notices/node-notices.ts';
import type {
  Finding,
  NodeCensus,
  NodeState,
  Observed,
  ObservedNodeRequest,
  ObservedNodeSearch,
  ObservedPlanning,
  ObservedPod,
  ObservedPreflight,
  ObservedTrained,
  ObservedProgress,
  ObservedRuntime,
  ObservedStanding,
  Verdict,
} from '../observation/observed.ts';
import type { ObservedLauncher } from '../observation/observed-launcher.ts';
import type { Hearing } from '../observation/hearing.ts';
import type { PodQuotas } from '../observation/pod-quotas.ts';
import type { ReferenceReads } from '../observation/references.ts';
import type { PodWarnings } from '../observation/pod-warnings.ts';
import type { RefusedCalls } from '../observation/refused-calls.ts';
import type { RefusedCheckpoints } from '../observation/refused-checkpoints.ts';
import type { Retention } from '../observation/retention.ts';
import type { Stopwatches } from '../observation/stopwatches.ts';
import type { Timeouts } from '../observation/timeouts.ts';
import type { UnwrittenStatuses } from '../observation/unwritten-statuses.ts';

/**
 * The cluster as this process observes it: a cache with the answers to its own calls on top. Each kind of object may lag by a different
 * time, so a job may be older than its pods, and the reverse. No method waits.
 */
export interface JobView {
  /** Wall time, only for times that users read. */
  readonly now: () => Date;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** Number of this process's term as leader; undefined while it does not lead. */
  readonly leaderTerm: () => number | undefined;
  /** Durations of the waits of this process's jobs. */
  readonly stopwatches: Stopwatches;
  /** Writes to Checkpoint objects that this process had refused. */
  readonly refusedCheckpoints: RefusedCheckpoints;
  /** Other writes that this process had refused. */
  readonly refusedCalls: RefusedCalls;
  /** The last reads of what kubelets report about pods that start silently; absent: this process reads none. */
  readonly podWarnings?: PodWarnings;
  /** The last reads of the objects that jobs name; absent: this process reads none. */
  readonly references?: ReferenceReads;
  /** Jobs whose status this process could not write. */
  readonly unwrittenStatuses: UnwrittenStatuses;
  /** Namespaces in which a quota refuses pods and counts ended ones; absent: no job makes room for another. */
  readonly podQuotas?: PodQuotas;
  /** Values that the administrator has set; the rest is default. */
  readonly timeouts: Partial<Timeouts>;
  /** Retention that the administrator has set; the rest is default. */
  readonly retention: Partial<Retention>;
  /** Measured facts about the cluster's GPUs, set by the administrator; absent: none. */
  readonly measuredGpus?: MeasuredGpus;
  /** The newest known version of the job of that key (`namespace/name`). */
  findJob(key: string): TrainingJob | undefined;
  podsOf(job: TrainingJob): readonly ObservedPod[];
  placementsOf(job: TrainingJob): readonly Placement[];
  /** Every PriorityClass of the cluster; undefined: they are unknown. Absent: this process reads none. */
  readonly priorityClasses?: () => readonly PriorityClassFacts[] | undefined;
  checkpointsOf(job: TrainingJob): readonly Checkpoint[];
  /** State of each node for a job of that namespace; a node that the cache lacks counts as gone. */
  nodeStates(names: readonly string[], namespace?: string): ReadonlyMap<string, NodeState>;
  nodeCensus(): NodeCensus;
  /** The node's boot ID; undefined: the node is not observed. */
  bootIdOf(node: string): string | undefined;
  /** Since when the node is ready, as its condition says; undefined: it is not ready, does not say, or is not observed. */
  readySinceOf(node: string): string | undefined;
  /** Conditions of the node that are True, except Ready; none if the node is not observed. */
  nodeConditionsOf(node: string): readonly NodeCondition[];
  /** The notice that the node is about to go away; undefined: there is none, or the node is not observed. */
  noticeOf(node: string, namespace?: string): NodeNotice | undefined;
  /** The notice that the node will go away, later than its gangs leave; undefined: there is none, or the node is not observed. */
  comingNoticeOf(node: string, namespace?: string): NodeNotice | undefined;
  /** Milliseconds since the last report of each launcher of the job, by its pod's UID. */
  reportAgesMsOf(job: TrainingJob): ReadonlyMap<string, number>;
  /** Last reports of the launchers of the job's newest epoch, by their pods' UIDs. */
  launchersOf(job: TrainingJob): ReadonlyMap<string, ObservedLauncher>;
  /** Result of the preflight of the job's newest epoch, once it is known. */
  preflightOf(job: TrainingJob): ObservedPreflight | undefined;
  /** What the ranks of the job's newest gang really train, compared with its layout, once a rank has reported. */
  trainedOf(job: TrainingJob): ObservedTrained | undefined;
  /** Launchers of all gangs that this process hears, and those that fell silent; absent: this process counts no launchers. */
  readonly hearing?: () => Hearing;
  /** Verdicts of detectors about the job's gang. */
  verdictsOf(job: TrainingJob): readonly Verdict[];
  /** What the job may do by its quota; undefined: it is not queued. Absent: no queue of others is followed. */
  readonly quotaOf?: (job: TrainingJob) => JobQuota | undefined;
  /** State of a request for nodes that the job waits for; absent: no controller requests nodes. */
  readonly nodeRequestOf?: (job: TrainingJob) => ObservedNodeRequest | undefined;
  /** A sentence on how labels of the gang's nodes differ from those at its placement; absent: nothing compares them. */
  readonly fabricChangeOf?: (job: TrainingJob) => string | undefined;
  /** All findings of detectors about the job's gang, acted on or not. */
  findingsOf(job: TrainingJob): readonly Finding[];
  /** Where the job's gang stands if it does not train; absent: nothing observes it. */
  readonly standingOf?: (job: TrainingJob) => ObservedStanding | undefined;
  /** The arbiter of unrequested ends, one for all jobs of this process; absent: every end is granted. */
  readonly arbiter?: EndArbiter;
  /** The scheduler, one for all jobs of this process. */
  readonly scheduler: ClusterScheduler;
  /** Which running jobs may make room for the job that waits with that request; absent: the administrator turned this off. */
  readonly makeRoom?: (job: TrainingJob, request: GangRequest) => ClaimChoice;
  /** Standing claims of other jobs that name the job of that UID; absent: this process knows of none. */
  readonly claimsOn?: (jobUid: string) => readonly ClaimOnJob[];
  /** Runs long searches of nodes; absent: every search is synchronous. */
  readonly nodeSearches?: NodeSearches;
  /** The current attempt's recorded Placement as this process observed it before its deletion. */
  keptPlacementOf(job: TrainingJob): PlacementSpec | undefined;
  /** The newest report of the job's steps in memory. */
  progressOf(job: TrainingJob): ObservedProgress | undefined;
  /** The runtime that the job names, as far as it is known. */
  runtimeOf(job: TrainingJob): ObservedRuntime | undefined;
  /** State of the job's last question to the planner. */
  planningOf(jobUid: string): ObservedPlanning | undefined;
}

/** Searches of nodes in another process. They take turns, so that no search uses GPUs that another one is about to get. */
export interface NodeSearches {
  /** State of that search of the job; a different earlier search does not count. */
  of(jobUid: string, search: NodeSearch): ObservedNodeSearch;
  /** Ends the job's search: its result was reserved, recorded as a refusal, or overtaken. */
  end(jobUid: string): void;
}

/** Effects that need no answer of the cluster. None of them waits, and none can fail. */
export interface JobEffects {
  /** Asks the planner; the view will show its answer. */
  askPlanner(job: TrainingJob, question: JobPlanQuestion): void;
  forgetPlanning(jobUid: string): void;
  /** Searches nodes; the view will show the result. */
  findNodes(job: TrainingJob, search: NodeSearch): void;
  /** Asks for the quota of these pods; the view will show what is granted. Absent: no queue of others is followed. */
  askQuota?(job: TrainingJob, question: QuotaAsked): void;
  /** Reads the job's runtime; the view will show it. */
  readRuntime(job: TrainingJob): void;
  /** Sends every connected launcher of that attempt the message that the attempt is over. */
  refuseLaunchers(job: TrainingJob, epoch: number): void;
  /** Warns users that the cluster refuses an action, with its message; best effort. */
  warn(job: TrainingJob, message: string): void;
  /** Warns users of unrecorded Placements, once while the message is the same; undefined: there are none. Best effort. */
  warnOfUnrecordedPlacements(job: TrainingJob, message: string | undefined): void;
  /** Records Events of what happened; best effort. */
  recordEvents(job: TrainingJob, events: Decision['events']): void;
}

/** What detectors report of the job's gang. */
export function detectedOf(view: JobView, job: TrainingJob): Pick<Observed, 'findings' | 'standing'> {
  const findings = view.findingsOf(job);
  const standing = view.standingOf?.(job);
  return { ...(findings.length === 0 ? {} : { findings }), ...(standing === undefined ? {} : { standing }) };
}
