import type { Checkpoint, JobEvent, Placement, TrainingJob } from '@coxswain/api-types';

/** Words of a job's history, in the order in which a smooth life shows them. */
export const JOB_EVENT_TYPES = [
  'Submitted',
  'Waiting',
  'Placed',
  'Resuming',
  'Started',
  'Running',
  'Resumed',
  'CheckpointSaved',
  'CheckpointDamaged',
  'RankFailed',
  'Restarting',
  'Suspended',
  'Completed',
  'Failed',
  'Cancelled',
] as const;
export type JobEventType = (typeof JOB_EVENT_TYPES)[number];

/** An event as it can be read off the current resources; `key` is stable, so inserting it twice inserts it once. */
export interface DerivedJobEvent extends Omit<JobEvent, 'id'> {
  /** E.g. `e2/RankFailed`, `checkpoint/tiny-3f1c2b9e-e1-s20/CheckpointSaved`; unique within the job's UID. */
  readonly key: string;
  readonly type: JobEventType;
}

/** The resources that a job's history is read from. */
export interface JobResources {
  readonly job: TrainingJob;
  readonly checkpoints: readonly Checkpoint[];
  readonly placements: readonly Placement[];
}

/** Every event that the current resources tell of, oldest first. Nothing depends on having seen each change. */
export function jobEvents(resources: JobResources): readonly DerivedJobEvent[] {
  void resources;
  return [];
}
