import type { QueueJob, QueuePromise, StartedJob } from '../load/queue-job.ts';

/** What a rule reports during a pass. */
export interface PassPorts {
  readonly nowMs: number;
  /** The job holds its nodes from now on. */
  readonly started: (started: StartedJob) => void;
  /** Runs one decision, so that its cost is measured. */
  readonly measure: <T>(decide: () => T) => T;
  /** The rule derived its promises again before it started jobs. Later changes of them in this pass are blamed on the jobs that start. */
  readonly promised: () => void;
}

/** Decides which jobs start. The driver reports what happens, then asks for a pass. */
export interface QueueRule {
  /** The pass is repeated at this interval while jobs wait; absent: only after a submission or an end. */
  readonly everyMs?: number;
  submitted(job: QueueJob, nowMs: number): void;
  ended(started: StartedJob, nowMs: number): void;
  pass(ports: PassPorts): void;
  /** What the rule keeps for which job; empty: it promises nothing. */
  promisesOf(): readonly QueuePromise[];
}
