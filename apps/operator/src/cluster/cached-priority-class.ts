import type { KubeObject } from '@coxswain/kube';
import type { PriorityClassFacts } from '@coxswain/scheduling';

/** A PriorityClass as the cache holds it. */
export interface CachedPriorityClass extends KubeObject {
  readonly facts: PriorityClassFacts;
}

/** Reduces a PriorityClass to what priorities of jobs are resolved from. */
export function toCachedPriorityClass(object: KubeObject): CachedPriorityClass {
  const { value, globalDefault, preemptionPolicy } = object as KubeObject & Readonly<Record<string, unknown>>;
  const { apiVersion, kind, metadata } = object;
  return {
    apiVersion,
    kind,
    metadata,
    facts: {
      name: metadata.name,
      value: typeof value === 'number' ? value : 0,
      isDefault: globalDefault === true,
      neverPreempts: preemptionPolicy === 'Never',
    },
  };
}
