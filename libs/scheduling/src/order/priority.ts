/** How urgent is a job, and which class do its pods carry? */
import type { TrainingJob } from '@coxswain/api-types';

/** Priority of a job that names no PriorityClass in a cluster without a default class. */
export const DEFAULT_PRIORITY = 0;

/** The value of the job's PriorityClass as the operator recorded it last; higher goes first. */
export function priorityOf({ status }: Pick<TrainingJob, 'status'>): number {
  return status?.priority?.value ?? DEFAULT_PRIORITY;
}

/** A PriorityClass of the cluster. */
export interface PriorityClassFacts {
  readonly name: string;
  readonly value: number;
  /** The class of pods and jobs that name none (`globalDefault`). */
  readonly isDefault: boolean;
  /** Pods of the class wait for room and evict no other pod (`preemptionPolicy: Never`). */
  readonly neverPreempts: boolean;
}

/** What priorities are resolved from, of a PriorityClass as the API server has it. A value that is no number counts as 0. */
export function priorityClassFacts(object: {
  readonly metadata: { readonly name: string };
  readonly value?: unknown;
  readonly globalDefault?: unknown;
  readonly preemptionPolicy?: unknown;
}): PriorityClassFacts {
  const { metadata, value, globalDefault, preemptionPolicy } = object;
  return {
    name: metadata.name,
    value: typeof value === 'number' ? value : DEFAULT_PRIORITY,
    isDefault: globalDefault === true,
    neverPreempts: preemptionPolicy === 'Never',
  };
}

/** The class for jobs that name none; undefined: the cluster has none. Of several the API server takes the one with the smallest value. */
export function defaultClass(classes: readonly PriorityClassFacts[]): PriorityClassFacts | undefined {
  return classes.filter(({ isDefault }) => isDefault).toSorted((one, other) => one.value - other.value)[0];
}

/** The class by convention for pods of jobs with that class: of the same value, and it never preempts. */
export function podClassName(className: string): string {
  return `${className}-never-preempts`;
}

/**
 * The class that pods carry, so that kube-scheduler orders them by the priority of their job and evicts no pod for them. undefined: the cluster has no such
 * class, so the pods carry none.
 */
export function podClassOf(
  priority: { readonly className?: string | undefined; readonly value: number } | undefined,
  classes: readonly PriorityClassFacts[],
): string | undefined {
  const { className, value } = priority ?? {};
  if (className === undefined) return undefined;
  const names = [className, podClassName(className)];
  return classes.find((one) => names.includes(one.name) && one.neverPreempts && one.value === value)?.name;
}
