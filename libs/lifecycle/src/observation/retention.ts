/**
 * How many Checkpoint objects of a job are kept, newest first. It is the administrator's to set, for the whole cluster: objects cost the API server
 * and the operator's memory, about 2 kB each. The files that they name are never touched.
 */
export interface Retention {
  /** Of a job that is not finished. */
  readonly checkpoints: number;
  /** Of a finished one. */
  readonly checkpointsOfFinished: number;
}

/** A hundred are more than ten hours of a save every six minutes; of a finished job twenty leave a choice for evaluation. */
export const DEFAULT_RETENTION: Retention = { checkpoints: 100, checkpointsOfFinished: 20 };
