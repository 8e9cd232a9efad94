/** What does a row keep of the retention of its checkpoint? */
import { type Checkpoint, type CheckpointRecord, CheckpointResourceStatus } from '@coxswain/api-types';

/** Column `retention` of `checkpoints`. */
export interface RecordedRetention {
  /** Null: no policy decided about it. */
  readonly decision: CheckpointRecord['retention'];
  readonly isBeingDeleted: boolean;
  readonly isAbsent: boolean;
}

/** What its object says; null: nothing. What cannot be read of a decision is left out. */
export function recordedRetention({ metadata, status }: Checkpoint): RecordedRetention | null {
  const decision = decisionOf(status);
  const isBeingDeleted = metadata.deletionTimestamp !== undefined || status?.deletion !== undefined;
  const isAbsent = status?.absent !== undefined;
  return decision !== null || isBeingDeleted || isAbsent ? { decision, isBeingDeleted, isAbsent } : null;
}

/** A deletion that is under way counts before what was decided. */
function decisionOf(status: Checkpoint['status']): CheckpointRecord['retention'] {
  const { deletion: Deletion, retention: Retention } = CheckpointResourceStatus.shape;
  const deletion = Deletion.safeParse(status?.deletion).data;
  if (deletion !== undefined) {
    const { because, problem } = deletion;
    return { keeps: false, because, ...(problem === undefined ? {} : { problem }) };
  }
  const decided = Retention.safeParse(status?.retention).data;
  return decided === undefined ? null : { keeps: decided.action === 'Keep', because: decided.because };
}
