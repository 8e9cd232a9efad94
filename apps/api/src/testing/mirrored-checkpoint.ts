import type { Checkpoint } from '@coxswain/api-types';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { projectCheckpoint } from '../projection/mirrors.ts';
import type { ApiUnderTest } from './api-under-test.ts';

let made = 0;

/** What a test says of its checkpoint; the rest is that of a complete one. */
export interface MirroredCheckpoint {
  /** Id of the job that saved it; its namespace is that of the job. */
  readonly jobId: string;
  readonly name?: string;
  readonly spec?: Partial<Checkpoint['spec']>;
  readonly status?: Checkpoint['status'];
  /** Absent: its object is not being deleted. */
  readonly deletionTimestamp?: string;
}

/** Writes a checkpoint as the projector does, for a test without a cluster. The job gets a UID if it has none. Answers the object. */
export async function mirrorCheckpoint(
  { running }: ApiUnderTest,
  { jobId, spec, status = { state: 'Complete' }, deletionTimestamp, ...given }: MirroredCheckpoint,
): Promise<Checkpoint> {
  const { database, cluster } = running.infrastructure;
  const found = await database.query<{ uid: string; namespace: string; name: string }>(
    'UPDATE jobs SET uid = coalesce(uid, id::text) WHERE id = $1 RETURNING uid, namespace, name',
    [jobId],
  );
  const job = found.rows[0];
  if (job === undefined) throw new Error(`there is no job ${jobId}`);
  const name = given.name ?? `${job.name}-s${++made}`;
  const base = aCheckpoint({ jobName: job.name, jobUid: job.uid, ...spec });
  const uid = `uid-of-${name}`;
  const checkpoint = {
    ...base,
    metadata: {
      ...base.metadata,
      name,
      namespace: job.namespace,
      uid,
      resourceVersion: '1',
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    status,
  };
  await database.transaction((sql) => projectCheckpoint(sql, cluster, checkpoint));
  return checkpoint;
}
