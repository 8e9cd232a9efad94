/** What would a retention policy do with the saves of a job, as far as the server has recorded them? */
import {
  ANNOTATIONS,
  API_GROUP_VERSION,
  type Checkpoint,
  type CheckpointRecord,
  type CheckpointRetention,
  type Job,
  type TrainingJob,
} from '@coxswain/api-types';
import { planRetention } from '@coxswain/lifecycle';

/** What would become of one save. */
export interface PlannedRetention {
  readonly name: string;
  readonly step: number;
  readonly action: 'Keep' | 'Delete';
  /** A sentence. */
  readonly because: string;
}

/**
 * Plans by the rule of the operator, in the order of saving. Records say nothing of pods, of placements and of other jobs, which can only keep more saves. A save
 * that is being deleted already comes with that reason.
 */
export function planFromRecords(
  job: Job,
  records: readonly CheckpointRecord[],
  policy: CheckpointRetention,
): readonly PlannedRetention[] {
  const live = records.filter(({ deletedAt }) => deletedAt === null);
  const jobUid = live[0]?.jobUid ?? '';
  const checkpoints = live.filter(({ isBeingDeleted }) => !isBeingDeleted).map(objectOf);
  const view = { checkpoints, jobs: [resourceOf(job, jobUid)], placements: [], readByPods: new Set<string>() };
  const going = live.flatMap(({ isBeingDeleted, name, step, retention }): PlannedRetention[] =>
    isBeingDeleted
      ? [{ name, step, action: 'Delete', because: `It is being deleted. ${retention?.because ?? ''}`.trimEnd() }]
      : [],
  );
  const planned = planRetention(jobUid, view, policy).map(({ checkpoint, action, because }) => ({
    ...{ name: checkpoint.metadata.name, step: checkpoint.spec.step },
    ...{ action, because },
  }));
  return [...going, ...planned];
}

function objectOf(record: CheckpointRecord): Checkpoint {
  const { name, namespace, uid, createdAt, pin, state, isSuspect, isAbsent, verification, progress } = record;
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Checkpoint',
    metadata: {
      ...{ name, namespace, uid, creationTimestamp: createdAt },
      ...(pin === null ? {} : { annotations: { [ANNOTATIONS.pin]: pin } }),
    },
    spec: record,
    status: {
      state,
      ...(isSuspect ? { suspect: { reason: 'Unreadable' as const, evidence: [] } } : {}),
      ...(isAbsent ? { absent: { since: createdAt } } : {}),
      ...(verification === null ? {} : { verification }),
      ...(progress === null ? {} : { progress }),
    },
  };
}

function resourceOf({ name, namespace, spec, attempts, checkpoint }: Job, uid: string): TrainingJob {
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: { name, namespace, uid },
    spec,
    status: {
      ...{ epoch: attempts.at(-1)?.epoch ?? 0, restarts: { total: 0, charged: 0 }, attempts, conditions: [] },
      ...(checkpoint === null ? {} : { checkpoint }),
    },
  };
}
