import type { RuntimeSnapshot, TrainingJobSpec } from '@coxswain/api-types';
import { nameOf, runtimeRefusal } from '@coxswain/runtime';
import type { Facts } from '../look/facts.ts';

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
  const name = nameOf(ref.name, ref.kind);
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

function missing(ref: NonNullable<TrainingJobSpec['runtimeRef']>, namespace: string): string {
  const name = nameOf(ref.name, ref.kind);
  return ref.kind === 'TrainingRuntime'
    ? `there is no ${name} in namespace ${namespace}; \`kubectl get trainingruntimes -n ${namespace}\` lists those that are`
    : `there is no ${name}; \`kubectl get clustertrainingruntimes\` lists those that are`;
}
