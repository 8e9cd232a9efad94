/** Which news concerns a job that is not placed? */
import { findCondition, type TrainingJob } from '@coxswain/api-types';

/** Whether the job waits for GPUs, so that freed ones concern it. */
export function waitsForCapacity({ status }: TrainingJob): boolean {
  const placed = findCondition(status?.conditions, 'Placed');
  return ['WaitingForCapacity', 'TopologyUnsatisfiable'].includes(placed?.reason ?? '');
}

/** Whether other nodes may help the job: it waits for GPUs, or the planner found no layout for the nodes that there are. */
export function waitsForNodes(job: TrainingJob): boolean {
  const { conditions } = job.status ?? {};
  return (
    waitsForCapacity(job) ||
    ['WaitingForPlan', 'Planning'].includes(findCondition(conditions, 'Placed')?.reason ?? '') ||
    findCondition(conditions, 'Accepted')?.reason === 'NoLayoutFits'
  );
}

/** RFC 3339: since when the job waits, as its status says, so that a new leader keeps the order. */
export function waitsSince({ metadata, status }: TrainingJob): string {
  return findCondition(status?.conditions, 'Placed')?.lastTransitionTime ?? metadata.creationTimestamp ?? '';
}
