import type { QueueClaim } from '../load/preemption.ts';
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
  /** The rule recorded which jobs leave which nodes for another job. */
  readonly claimed: (claim: QueueClaim) => void;
  /** That record ended without a start. */
  readonly claimEnded: (jobUid: string) => void;
  /** The job of that UID was asked to stop for another one. It leaves its nodes some time later. */
  readonly stopped: (uid: string, forUid: string) => void;
  /** The job of that UID was asked to stop, to go on with all of its pods. */
  readonly grows: (uid: string) => void;
}

/** Decides which jobs start. The driver reports what happens, then asks for a pass. */
export interface QueueRule {
  /** The pass is repeated at this interval while jobs wait; absent: only after a submission or an end. */
  readonly everyMs?: number;
  submitted(job: QueueJob, nowMs: number): void;
  ended(started: StartedJob, nowMs: number): void;
  /** A job that was asked to stop has left its nodes, and waits again. Absent: the rule stops no job. */
  left?(started: StartedJob, nowMs: number): void;
  pass(ports: PassPorts): void;
  /** Whether the pass is repeated although no job waits. Absent: it is not. */
  readonly isWaiting?: boolean;
  /** What the rule keeps for which job; empty: it promises nothing. */
  promisesOf(): readonly QueuePromise[];
}
