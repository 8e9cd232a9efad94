/**
 * How many Checkpoint objects of a job are kept, newest first. Administrators set it for the whole cluster, because each object costs the
 * API server and the operator about 2 kB of memory. Files are deleted only by a retention policy (`retention/`).
 */
export interface Retention {
  /** Of a job that is not finished. */
  readonly checkpoints: number;
  /** Of a finished one. */
  readonly checkpointsOfFinished: number;
}

/** 100 are more than ten hours of saves every six minutes; 20 of a finished job leave a choice for evaluation. */
export const DEFAULT_RETENTION: Retention = { checkpoints: 100, checkpointsOfFinished: 20 };
