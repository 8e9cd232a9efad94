/** Which jobs wait, for what, and since when? */
import { findCondition, type TrainingJob } from '@coxswain/api-types';

/** Whether the job waits for GPUs, so that it is reconciled when GPUs become free. */
export function isWaitingForCapacity({ status }: TrainingJob): boolean {
  const reason = findCondition(status?.conditions, 'Placed')?.reason;
  return reason === 'WaitingForCapacity' || reason === 'TopologyUnsatisfiable';
}

/** Whether other nodes may help the job: it waits for GPUs, or the planner found no layout for the present nodes. */
export function isWaitingForNodes(job: TrainingJob): boolean {
  const { conditions } = job.status ?? {};
  return (
    isWaitingForCapacity(job) ||
    ['WaitingForPlan', 'Planning'].includes(findCondition(conditions, 'Placed')?.reason ?? '') ||
    findCondition(conditions, 'Accepted')?.reason === 'NoLayoutFits'
  );
}

/**
 * RFC 3339: the time that orders the waiting jobs of a namespace, which is when this run of the job first asked for GPUs. It is read from the
 * job's status, so a new leader keeps the order. A job whose status was written by the release before has the last change of condition Placed.
 */
export function waitingSince({ metadata, status }: TrainingJob): string {
  return (
    status?.askedAt ??
    findCondition(status?.conditions, 'Placed')?.lastTransitionTime ??
    metadata.creationTimestamp ??
    ''
  );
}
