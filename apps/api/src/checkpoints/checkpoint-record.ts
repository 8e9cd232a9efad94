import { type CheckpointRecord, formatPlace } from '@coxswain/api-types';
import type { RecordedRetention } from './recorded-retention.ts';

/** A row of `checkpoints` as the driver gives it. */
export interface CheckpointRow {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: Omit<
    CheckpointRecord,
    | 'name'
    | 'uid'
    | 'namespace'
    | 'location'
    | 'isSuspect'
    | 'verification'
    | 'contents'
    | 'progress'
    | 'pin'
    | 'retention'
    | 'isBeingDeleted'
    | 'isAbsent'
  >;
  readonly state: CheckpointRecord['state'];
  readonly message: string | null;
  readonly verification: CheckpointRecord['verification'];
  readonly contents: CheckpointRecord['contents'];
  /** Null: nothing is known, or an API of the release before wrote the row. */
  readonly progress: CheckpointRecord['progress'];
  readonly pin: string | null;
  /** Null: the object says nothing of it, or an API of the release before wrote the row. */
  readonly retention: RecordedRetention | null;
  /** Null: an API of the release before wrote the row. */
  readonly is_suspect: boolean | null;
  readonly created_at: Date;
  readonly deleted_at: Date | null;
}

/** The checkpoint of a row as REST and GraphQL answer it. */
export function toCheckpointRecord(row: CheckpointRow, jobId: string | null): CheckpointRecord {
  return {
    ...row.spec,
    name: row.name,
    uid: row.uid,
    namespace: row.namespace,
    jobId,
    location: formatPlace(row.spec, row.spec.path),
    state: row.state,
    // The operator of the release before gave a complete checkpoint a message only while it was suspect.
    isSuspect: row.state === 'Complete' && (row.is_suspect ?? row.message !== null),
    message: row.message,
    verification: row.verification,
    contents: row.contents,
    progress: row.progress,
    pin: row.pin,
    retention: row.retention?.decision ?? null,
    isBeingDeleted: row.deleted_at === null && row.retention?.isBeingDeleted === true,
    isAbsent: row.retention?.isAbsent === true,
    createdAt: row.created_at.toISOString(),
    deletedAt: row.deleted_at?.toISOString() ?? null,
  };
}
