/** How urgent is a job? */
import type { TrainingJob } from '@coxswain/api-types';

/** Priority of a job that names no PriorityClass in a cluster without a default class. */
export const DEFAULT_PRIORITY = 0;

/** Status with the value of the job's PriorityClass. */
interface PrioritisedStatus {
  readonly priority?: { readonly value?: number };
}

/** The value of the job's PriorityClass as the operator recorded it last; higher goes first. */
export function priorityOf({ status }: Pick<TrainingJob, 'status'>): number {
  return (status as PrioritisedStatus | undefined)?.priority?.value ?? DEFAULT_PRIORITY;
}
