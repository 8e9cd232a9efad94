import type { Checkpoint, Placement, PlacementSpec, TrainingJob } from '@coxswain/api-types';
import type { FabricCapacity } from '@coxswain/fabric';
import type { JobPlanQuestion } from '@coxswain/job-planning';
import type { Refusals } from '../admission/refusals.ts';
import type { Decision } from '../decide/decision.ts';
import type {
  NodeCensus,
  NodeState,
  ObservedLauncher,
  ObservedPlanning,
  ObservedPod,
  ObservedProgress,
} from '../look/observed.ts';
import type { Stopwatches } from '../look/stopwatches.ts';
import type { Timeouts } from '../look/timeouts.ts';

/** Free and taken GPUs, and the number of the state that they were read at. */
export interface VersionedCapacity extends FabricCapacity {
  readonly version: number;
}

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
  /** Where the administrator's differ from the defaults. */
  readonly timeouts: Partial<Timeouts>;
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
  /** How long ago the launcher of each pod of the job was heard, in milliseconds, by the pod's UID. */
  heardMsOf(job: TrainingJob): ReadonlyMap<string, number>;
  /** What the launchers of the job's newest epoch last said of their ranks, by their pods' UIDs. */
  launchersOf(job: TrainingJob): ReadonlyMap<string, ObservedLauncher>;
  /** What is free for the job, with the number of the state that it was read at. */
  capacityFor(job: TrainingJob): VersionedCapacity;
  /** What the fabric has refused, and whether it would refuse it again; absent: every look searches anew. */
  readonly refusals?: Refusals;
  /** Whether the GPUs of a placement of its job are held by nobody else now. Nodes that are not known are left to others to judge. */
  fits(placement: PlacementSpec): boolean;
  /**
   * Holds a placement's GPUs against other jobs of this process until `release`, in one step with the check that it still fits: false, and
   * nothing held, where a node of it has changed since `version`, takes no pods, or has its GPUs taken. Whoever gets false places anew.
   */
  reserve(placement: PlacementSpec, version: number): boolean;
  /** What is reserved for the job. */
  reservedFor(job: TrainingJob): PlacementSpec | undefined;
  /** Gives up what was reserved for the job, if anything. */
  release(job: TrainingJob): void;
  /** Newest report of the job's steps held in memory. */
  progressOf(job: TrainingJob): ObservedProgress | undefined;
  /** What became of the job's last question to the planner. */
  planningOf(jobUid: string): ObservedPlanning | undefined;
}

/** What is done for a job without asking the cluster; none of it waits, and none can fail. */
export interface JobEffects {
  /** Asks the planner, whose answer the view will show. */
  askPlanner(job: TrainingJob, question: JobPlanQuestion): void;
  forgetPlanning(jobUid: string): void;
  /** Tells every launcher of that epoch that is connected that the epoch is over. */
  refuseLaunchers(job: TrainingJob, epoch: number): void;
  /** Tells people that the cluster refuses what has to be done, in its own words; best effort. */
  warn(job: TrainingJob, message: string): void;
  /** Tells people of objects that say to be of the job and are not, once as long as they are the same; undefined: there are none. Best effort. */
  warnOfStrangers(job: TrainingJob, message: string | undefined): void;
  /** Tells people what happened; best effort. */
  announce(job: TrainingJob, events: Decision['events']): void;
}
