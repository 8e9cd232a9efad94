/** The history from which the goodput of a job is computed. */

import type { GoodputCategory, JobSaveStop, RunMark } from '@coxswain/api-types';
import type { SaveCost } from './save-cost.ts';

/** Categories of recovery, by what the failure is blamed on. */
export type RecoveryCategory = Extract<GoodputCategory, `${string}Recovery`>;

/** Milliseconds since 1970, whole. Undefined: not known. */
type Moment = number | undefined;

/** One run of the ranks of an attempt. */
export interface RunHistory {
  readonly incarnation: number;
  /** When every one of its ranks had been started. */
  readonly runningMs: Moment;
  /** When its checkpoint had been loaded. */
  readonly restoredMs: Moment;
  /** Marks of its phase clock that are known. */
  readonly marks: Readonly<Partial<Record<RunMark, number>>>;
  /** When its first and its last step were reported. */
  readonly firstStepMs: Moment;
  readonly lastStepMs: Moment;
  readonly firstStep: number | undefined;
  readonly lastStep: number | undefined;
  /** The step that it resumed from; 0 if it started from scratch. */
  readonly resumedFromStep: number;
  /** When its failure was recorded, or its stop requested. Undefined: it is still running. */
  readonly endedMs: Moment;
  readonly end: 'failed' | 'madeRoom' | 'stopped' | 'live' | 'unknown';
  /** Category of the time that its failure cost. Unused unless it failed. */
  readonly recovery: RecoveryCategory;
  /** Mean time of a step, as the ranks reported it; undefined if they reported none. */
  readonly stepMs: number | undefined;
  /** Whether it saved checkpoints. */
  readonly hasSaved: boolean;
  /** How much time stragglers cost, if a verdict gives the figure. */
  readonly slowMs: number | undefined;
}

/** GPUs of pods that outlive their attempt: their node does not answer, so they cannot be deleted. */
export interface HeldBeyondEnd {
  readonly gpus: number;
  readonly fromMs: number;
  /** Undefined: they are still held. */
  readonly toMs: Moment;
}

/** GPUs that the standbys of an attempt hold beside its gang. */
export interface HeldByStandbys {
  readonly gpus: number;
  /** Until then: one that takes the place of a pod is a standby no longer. Undefined: as long as the attempt holds GPUs. */
  readonly toMs: Moment;
}

/** One launch of the gang, with the runs of its ranks, oldest first and never empty. */
export interface AttemptHistory {
  readonly epoch: number;
  /** Held from its placement until its last pod was gone. */
  readonly gpus: number;
  readonly heldFromMs: Moment;
  readonly heldToMs: Moment;
  /** Held after the end of the attempt, at the same time as those of later attempts, and beyond the end of the job. */
  readonly heldBeyond: readonly HeldBeyondEnd[];
  /** Beside those of the gang. */
  readonly standbys: readonly HeldByStandbys[];
  readonly wasSuspended: boolean;
  /** Its first runs are not among those that are known. */
  readonly lacksRuns: boolean;
  /** Checkpoints saved between reported steps, and the time between these steps. Undefined: not recorded. */
  readonly saves: SaveCost | undefined;
  readonly runs: readonly RunHistory[];
}

/** The history of a job up to a moment. */
export interface JobHistory {
  readonly createdMs: Moment;
  /** The end of the job, or the time of the observation. */
  readonly asOfMs: number;
  /** The time of the observation, also after the end of the job. */
  readonly observedMs: number;
  readonly isFinished: boolean;
  /** How long ranks stood still for each of the newest saves, oldest first. */
  readonly saveStops: readonly JobSaveStop[];
  /** Oldest first. */
  readonly attempts: readonly AttemptHistory[];
}
