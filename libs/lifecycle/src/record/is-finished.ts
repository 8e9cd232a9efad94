import { findCondition, type TrainingJob } from '@coxswain/api-types';

/** Whether the job has ended for good. */
export function isFinished({ status }: Pick<TrainingJob, 'status'>): boolean {
  return (['Complete', 'Failed'] as const).some((type) => findCondition(status?.conditions, type)?.status === 'True');
}
