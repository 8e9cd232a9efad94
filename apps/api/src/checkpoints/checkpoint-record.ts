import type { CheckpointRecord } from '@coxswain/api-types';

/** A row of `checkpoints` as the driver gives it. */
export interface CheckpointRow {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: Omit<CheckpointRecord, 'name' | 'uid' | 'namespace' | 'isSuspect'>;
  readonly state: CheckpointRecord['state'];
  readonly message: string | null;
  readonly created_at: Date;
  readonly deleted_at: Date | null;
}

/** The checkpoint of a row as REST and GraphQL answer it. */
export function toCheckpointRecord(row: CheckpointRow, jobId: string): CheckpointRecord {
  return {
    ...row.spec,
    name: row.name,
    uid: row.uid,
    namespace: row.namespace,
    jobId,
    state: row.state,
    // The operator gives a complete checkpoint a message only while it is suspect.
    isSuspect: row.state === 'Complete' && row.message !== null,
    message: row.message,
    createdAt: row.created_at.toISOString(),
    deletedAt: row.deleted_at?.toISOString() ?? null,
  };
}
