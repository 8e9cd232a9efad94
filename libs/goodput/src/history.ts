/** What has to be known of a job to say where its GPU-seconds went? */

/** Milliseconds since 1970, whole. Undefined: not known. */
type Moment = number | undefined;

/** One run of the ranks of an attempt. */
export interface RunHistory {
  readonly incarnation: number;
  /** When every one of its ranks had been started. */
  readonly runningMs: Moment;
  /** When its checkpoint had been loaded. */
  readonly restoredMs: Moment;
  /** When its first step was heard of, and when the last one. */
  readonly firstStepMs: Moment;
  readonly lastStepMs: Moment;
  readonly firstStep: number | undefined;
  readonly lastStep: number | undefined;
  /** Step that it began from; 0: from scratch. */
  readonly resumedFromStep: number;
  /** When its failure was recorded, or its stop asked for. Undefined: it goes on. */
  readonly endedMs: Moment;
  readonly end: 'failed' | 'stopped' | 'live' | 'unknown';
  /** Mean time of one step as its ranks tell it; undefined: nobody told. */
  readonly stepMs: number | undefined;
  /** Whether it saved checkpoints. */
  readonly hasSaved: boolean;
  /** What stragglers cost of its time, where a verdict says so. */
  readonly slowMs: number | undefined;
}

/** One launch of the gang, with the runs of its ranks, oldest first and never empty. */
export interface AttemptHistory {
  readonly epoch: number;
  /** Held from its placement until its last pod was gone. */
  readonly gpus: number;
  readonly heldFromMs: Moment;
  readonly heldToMs: Moment;
  readonly wasSuspended: boolean;
  /** Its first runs are not among those that are known. */
  readonly lacksRuns: boolean;
  readonly runs: readonly RunHistory[];
}

/** A job's life up to a moment. */
export interface JobHistory {
  readonly createdMs: Moment;
  /** The end of the job, or the moment of the look. */
  readonly asOfMs: number;
  readonly isFinished: boolean;
  /** Oldest first. */
  readonly attempts: readonly AttemptHistory[];
}
