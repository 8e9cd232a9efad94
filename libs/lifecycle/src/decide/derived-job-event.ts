import type { JobEvent, JobEventType } from '@coxswain/api-types';

/** An event derived from the current resources. `key` is stable, so inserting an event twice stores it once. */
export interface DerivedJobEvent extends Omit<JobEvent, 'id'> {
  /** E.g. `e2/RankFailed`, `checkpoint/tiny-3f1c2b9e-e1-s20/CheckpointSaved`; unique within the job's UID. */
  readonly key: string;
  readonly type: JobEventType;
}
