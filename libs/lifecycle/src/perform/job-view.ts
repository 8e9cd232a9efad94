import type { Checkpoint, Placement, PlacementSpec, TrainingJob } from '@coxswain/api-types';
import type { NodeCondition } from '@coxswain/health';
import type { JobPlanQuestion, MeasuredGpus, NodeSearch } from '@coxswain/job-planning';
import type { ClusterScheduler } from '@coxswain/scheduling';
import type { Decision } from '../decide/decision.ts';
import type { NodeNotice } from '../notices/node-notices.ts';
import type {
  Finding,
  NodeCensus,
  NodeState,
  ObservedLauncher,
  ObservedNodeRequest,
  ObservedNodeSearch,
  ObservedPlanning,
  ObservedPod,
  ObservedPreflight,
  ObservedTrained,
  ObservedProgress,
  ObservedRuntime,
  Verdict,
} from '../observation/observed.ts';
import type { RefusedCheckpoints } from '../observation/refused-checkpoints.ts';
import type { Retention } from '../observation/retention.ts';
import type { Stopwatches } from '../observation/stopwatches.ts';
import type { Timeouts } from '../observation/timeouts.ts';

/**
 * The cluster as this process sees it: a cache with the answers to its own calls laid over it. Kinds lag apart, always: what it shows of a
 * job may be older than what it shows of that job's pods, and the other way round. Nothing here waits.
 */
export interface JobView {
  /** Wall time, only for what people read. */
  readonly now: () => Date;
  /** Never goes back, whatever is done to the clock. */
  readonly monotonicMs: () => number;
  /** Number of this process's term as leader; undefined while it does not lead. */
  readonly leaderTerm: () => number | undefined;
  /** What this process has timed of its jobs. */
  readonly stopwatches: Stopwatches;
  /** Which writes to Checkpoint objects this process has seen refused. */
  readonly refusedCheckpoints: RefusedCheckpoints;
  /** Where the administrator's differ from the defaults. */
  readonly timeouts: Partial<Timeouts>;
  readonly retention: Partial<Retention>;
  /** What the administrator has measured of the cluster's GPUs; absent: nothing. */
  readonly measuredGpus?: MeasuredGpus;
  /** The job of that key (`namespace/name`), as new as it is known. */
  findJob(key: string): TrainingJob | undefined;
  podsOf(job: TrainingJob): readonly ObservedPod[];
  placementsOf(job: TrainingJob): readonly Placement[];
  checkpointsOf(job: TrainingJob): readonly Checkpoint[];
  /** State of each node as far as it is seen; one that is not seen counts as gone. */
  nodeStates(names: readonly string[]): ReadonlyMap<string, NodeState>;
  nodeCensus(): NodeCensus;
  /** Which boot of that node this is; undefined when it is not seen. */
  bootIdOf(node: string): string | undefined;
  /** Since when that node is ready, as it says; undefined when it is not, does not say or is not seen. */
  readySinceOf(node: string): string | undefined;
  /** Conditions of that node that hold, without Ready; none when it is not seen. */
  nodeConditionsOf(node: string): readonly NodeCondition[];
  /** Who says that node is about to go away; undefined when nobody does, or it is not seen. */
  noticeOf(node: string): NodeNotice | undefined;
  /** Who says that node will go away, not yet so soon that its gangs leave; undefined when nobody does, or it is not seen. */
  comingNoticeOf(node: string): NodeNotice | undefined;
  /** How long ago the launcher of each pod of the job was heard, in milliseconds, by the pod's UID. */
  heardMsOf(job: TrainingJob): ReadonlyMap<string, number>;
  /** What the launchers of the job's newest epoch last said of their ranks, by their pods' UIDs. */
  launchersOf(job: TrainingJob): ReadonlyMap<string, ObservedLauncher>;
  /** What came of the preflight of the job's newest epoch, once that is known. */
  preflightOf(job: TrainingJob): ObservedPreflight | undefined;
  /** What the ranks of the job's newest gang really train, held against its layout, once one has told. */
  trainedOf(job: TrainingJob): ObservedTrained | undefined;
  /** What detectors find of the job's gang. */
  verdictsOf(job: TrainingJob): readonly Verdict[];
  /** Whether nodes are asked for that the job waits for; absent: nobody looks. */
  readonly nodeRequestOf?: (job: TrainingJob) => ObservedNodeRequest | undefined;
  /** What is said of the nodes of the job's gang otherwise than when it was placed, in a sentence; absent: nobody looks. */
  readonly fabricChangeOf?: (job: TrainingJob) => string | undefined;
  /** All that detectors see of the job's gang, acted on or not. */
  findingsOf(job: TrainingJob): readonly Finding[];
  /** Who gets GPUs: one for all jobs of this process. */
  readonly scheduler: ClusterScheduler;
  /** Where long searches of nodes are made; absent: in the look. */
  readonly nodeSearches?: NodeSearches;
  /** The recorded Placement of the attempt under way as it was before somebody deleted it, where this process saw it. */
  keptPlacementOf(job: TrainingJob): PlacementSpec | undefined;
  /** Newest report of the job's steps held in memory. */
  progressOf(job: TrainingJob): ObservedProgress | undefined;
  /** What is known of the runtime that the job names. */
  runtimeOf(job: TrainingJob): ObservedRuntime | undefined;
  /** What became of the job's last question to the planner. */
  planningOf(jobUid: string): ObservedPlanning | undefined;
}

/** Searches of nodes beside the loop. One at a time has its turn, so that none works on what another one is about to be given. */
export interface NodeSearches {
  /** What became of that search of the job; what it last searched otherwise counts for nothing. */
  of(jobUid: string, search: NodeSearch): ObservedNodeSearch;
  /** Version of the capacity that what was found for the job stands on; undefined where nothing was. */
  versionOf(jobUid: string): number | undefined;
  /** What was found is reserved, remembered as a refusal, or others were faster. */
  end(jobUid: string): void;
}

/** What is done for a job without asking the cluster; none of it waits, and none can fail. */
export interface JobEffects {
  /** Asks the planner, whose answer the view will show. */
  askPlanner(job: TrainingJob, question: JobPlanQuestion): void;
  forgetPlanning(jobUid: string): void;
  /** Searches nodes, which the view will show. */
  findNodes(job: TrainingJob, search: NodeSearch): void;
  /** Reads the runtime that the job names, which the view will show. */
  readRuntime(job: TrainingJob): void;
  /** Tells every launcher of that epoch that is connected that the epoch is over. */
  refuseLaunchers(job: TrainingJob, epoch: number): void;
  /** Tells people that the cluster refuses what has to be done, in its own words; best effort. */
  warn(job: TrainingJob, message: string): void;
  /** Tells people of objects that say to be of the job and are not, once as long as they are the same; undefined: there are none. Best effort. */
  warnOfStrangers(job: TrainingJob, message: string | undefined): void;
  /** Tells people what happened; best effort. */
  announce(job: TrainingJob, events: Decision['events']): void;
}
