import {
  type Condition,
  findCondition,
  runtimeName,
  type RuntimeSnapshot,
  type TrainingJobSpec,
  type TrainingRuntime,
} from '@coxswain/api-types';
import { readRuntime, runtimeRefusal } from '@coxswain/runtime';
import type { Facts } from '../observation/facts.ts';
import { recordedConditions } from '../record/job-record.ts';

/** Whether the job's pods can be created with the runtime that it names. */
export type RuntimeStanding =
  | { readonly kind: 'notNamed' }
  /** It was not read yet, or cannot be read now. */
  | { readonly kind: 'unread'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'usable'; readonly snapshot: RuntimeSnapshot; readonly isFresh: boolean };

/** The state of the job's runtime. */
export function runtimeStanding({ spec, job, observed: { runtime } }: Facts): RuntimeStanding {
  const ref = spec?.runtimeRef;
  if (spec === undefined || ref === undefined) return { kind: 'notNamed' };
  const name = runtimeName(ref);
  if (runtime === undefined || runtime.kind === 'unknown') return { kind: 'unread', message: `${name} is being read.` };
  if (runtime.kind === 'unreadable') {
    return { kind: 'unread', message: `${name} could not be read; Coxswain retries: ${runtime.problem}` };
  }
  if (runtime.kind === 'missing') return { kind: 'refused', message: missing(ref, job.metadata.namespace ?? '') };
  const message = runtimeRefusal({ namespace: job.metadata.namespace ?? '', spec }, runtime.runtime);
  const { usable } = runtime.runtime;
  if (usable.kind === 'refused') return usable;
  if (message !== undefined) return { kind: 'refused', message };
  return { kind: 'usable', snapshot: usable.snapshot, isFresh: runtime.isFresh };
}

/** Whether this process has not read the runtime yet. */
export function isRuntimeUnknown({ spec, observed: { runtime } }: Facts): boolean {
  return spec?.runtimeRef !== undefined && (runtime === undefined || runtime.kind === 'unknown');
}

/**
 * The recorded condition of the same spec, which stays until the runtime has been read. So a new process does not change the status of
 * thousands of jobs.
 */
export function conditionBeforeReading(facts: Facts, type: 'Accepted' | 'Placed'): Condition | undefined {
  const recorded = findCondition(recordedConditions(facts.job), type);
  const isCurrent = recorded?.status === 'False' && recorded.observedGeneration === facts.generation;
  return isCurrent && isRuntimeUnknown(facts) ? recorded : undefined;
}

/** Why a job that is not submitted could not use the runtime that it names; undefined if it could. `runtime` undefined: there is none of that name. */
export function describeRuntimeProblem(
  { namespace, spec }: { readonly namespace: string; readonly spec: TrainingJobSpec },
  runtime: TrainingRuntime | undefined,
): string | undefined {
  if (spec.runtimeRef === undefined) return undefined;
  if (runtime === undefined) return missing(spec.runtimeRef, namespace);
  return runtimeRefusal({ namespace, spec }, readRuntime(runtime));
}

function missing(ref: NonNullable<TrainingJobSpec['runtimeRef']>, namespace: string): string {
  const name = runtimeName(ref);
  return ref.kind === 'TrainingRuntime'
    ? `there is no ${name} in namespace ${namespace}; \`kubectl get trainingruntimes -n ${namespace}\` lists those that are`
    : `there is no ${name}; \`kubectl get clustertrainingruntimes\` lists those that are`;
}
