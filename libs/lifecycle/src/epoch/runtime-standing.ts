import {
  type Condition,
  findCondition,
  runtimeName,
  type RuntimeSnapshot,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { runtimeRefusal } from '@coxswain/runtime';
import type { Facts } from '../observation/facts.ts';
import { recordedConditions } from '../record/job-record.ts';

/** Whether the job's pods can be made with the runtime that it names. */
export type RuntimeStanding =
  | { readonly kind: 'notNamed' }
  /** It was not read yet, or cannot be read at present. */
  | { readonly kind: 'unread'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'usable'; readonly snapshot: RuntimeSnapshot; readonly isFresh: boolean };

export function runtimeStanding({ spec, job, observed: { runtime } }: Facts): RuntimeStanding {
  const ref = spec?.runtimeRef;
  if (spec === undefined || ref === undefined) return { kind: 'notNamed' };
  const name = runtimeName(ref);
  if (runtime === undefined || runtime.kind === 'unknown') return { kind: 'unread', message: `${name} is being read.` };
  if (runtime.kind === 'unreadable') {
    return { kind: 'unread', message: `${name} could not be read, and is read again: ${runtime.problem}` };
  }
  if (runtime.kind === 'missing') return { kind: 'refused', message: missing(ref, job.metadata.namespace ?? '') };
  const message = runtimeRefusal({ namespace: job.metadata.namespace ?? '', spec }, runtime.runtime);
  const { usable } = runtime.runtime;
  if (usable.kind === 'refused') return usable;
  if (message !== undefined) return { kind: 'refused', message };
  return { kind: 'usable', snapshot: usable.snapshot, isFresh: runtime.isFresh };
}

/** Whether the runtime has yet to be asked for by this process. */
export function isRuntimeUnknown({ spec, observed: { runtime } }: Facts): boolean {
  return spec?.runtimeRef !== undefined && (runtime === undefined || runtime.kind === 'unknown');
}

/** What status says of the same spec stands until the runtime has been read: that a new process has to read it is no news of thousands of jobs. */
export function saidBeforeReading(facts: Facts, type: 'Accepted' | 'Placed'): Condition | undefined {
  const said = findCondition(recordedConditions(facts.job), type);
  const isCurrent = said?.status === 'False' && said.observedGeneration === facts.generation;
  return isCurrent && isRuntimeUnknown(facts) ? said : undefined;
}

function missing(ref: NonNullable<TrainingJobSpec['runtimeRef']>, namespace: string): string {
  const name = runtimeName(ref);
  return ref.kind === 'TrainingRuntime'
    ? `there is no ${name} in namespace ${namespace}; \`kubectl get trainingruntimes -n ${namespace}\` lists those that are`
    : `there is no ${name}; \`kubectl get clustertrainingruntimes\` lists those that are`;
}
