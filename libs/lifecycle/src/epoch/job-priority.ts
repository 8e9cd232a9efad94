/** Which priority does a job have, from the PriorityClass that it names? */
import { isSystemPriorityClass, type TrainingJobStatus } from '@coxswain/api-types';
import { nearestWord } from '@coxswain/layout';
import {
  DEFAULT_PRIORITY,
  defaultClass,
  podClassName,
  podClassOf,
  type PriorityClassFacts,
} from '@coxswain/scheduling';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

type Priority = NonNullable<TrainingJobStatus['priority']>;

/** Most classes that a message names. */
const SHOWN_CLASSES = 10;

/**
 * Records the priority. It follows the class that the spec names, and the default class if the spec names none. If the named class does not exist, the
 * recorded priority stays: a job that has waited keeps its place when its class is deleted.
 */
export function recordPriority(record: JobRecord, { spec, observed: { priorityClasses } }: Facts): JobRecord {
  if (spec === undefined || priorityClasses === undefined) return record;
  const name = spec.priorityClassName;
  const found = name === undefined ? defaultClass(priorityClasses) : classNamed(name, priorityClasses);
  if (found === undefined) return name === undefined ? withPriority(record, undefined) : record;
  return withPriority(record, { className: found.name, value: found.value });
}

function withPriority(record: JobRecord, priority: Priority | undefined): JobRecord {
  const { className, value } = record.priority ?? {};
  return className === priority?.className && value === priority?.value ? record : { ...record, priority };
}

/** Why the job cannot get a priority: it names a class that does not exist, and did not exist before. undefined: it has one. */
export function missingPriorityClass({ priority }: JobRecord, facts: Facts): string | undefined {
  const name = missingName(facts);
  const { priorityClasses = [] } = facts.observed;
  if (name === undefined || priority?.className === name) return undefined;
  const names = priorityClasses
    .map((one) => one.name)
    .filter((one) => !isSystemPriorityClass(one))
    .toSorted();
  const meant = nearestWord(names, name);
  const shown = names.slice(0, SHOWN_CLASSES).join(', ');
  const more = names.length > SHOWN_CLASSES ? ` and ${names.length - SHOWN_CLASSES} more` : '';
  const exist = names.length === 0 ? 'The cluster has none for jobs.' : `The cluster has ${shown}${more}.`;
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return `PriorityClass ${name} (spec.priorityClassName) does not exist.${hint} ${exist}`;
}

/** A sentence on a class whose value is unknown, because the operator cannot read the classes; undefined: it is known. */
export function unreadPriorityClass({ priority }: JobRecord, { spec, observed }: Facts): string | undefined {
  const name = spec?.priorityClassName;
  if (name === undefined || name === priority?.className || observed.priorityClasses !== undefined) return undefined;
  return `The operator cannot read PriorityClasses yet, so priority ${priority?.value ?? DEFAULT_PRIORITY} applies instead of ${name}. Check that the chart grants list and watch on priorityclasses.`;
}

/** A sentence on a class that was deleted while the job has its priority; undefined: it exists. */
export function deletedPriorityClass({ priority }: JobRecord, facts: Facts): string | undefined {
  const name = missingName(facts);
  if (name === undefined || priority?.className !== name) return undefined;
  return `PriorityClass ${name} was deleted; the job keeps its value ${priority.value}.`;
}

/** A sentence on the class for pods, if the cluster has none for the priority of the job; undefined: it has, or none is needed. */
export function missingPodClass({ priority }: JobRecord, { spec, observed }: Facts): string | undefined {
  const { priorityClasses } = observed;
  if (spec?.priorityClassName === undefined || priorityClasses === undefined || priority?.className === undefined)
    return undefined;
  if (podClassOf(priority, priorityClasses) !== undefined) return undefined;
  return `Its pods carry no class of this priority: PriorityClass ${podClassName(priority.className)} of value ${priority.value} with preemptionPolicy Never does not exist.`;
}

function missingName({ spec, observed: { priorityClasses } }: Facts): string | undefined {
  const name = spec?.priorityClassName;
  if (name === undefined || priorityClasses === undefined) return undefined;
  return classNamed(name, priorityClasses) === undefined ? name : undefined;
}

function classNamed(name: string, classes: readonly PriorityClassFacts[]): PriorityClassFacts | undefined {
  return classes.find((one) => one.name === name);
}
