import type { KubeObject } from '@coxswain/kube';
import { priorityClassFacts, type PriorityClassFacts } from '@coxswain/scheduling';

/** A PriorityClass as the cache holds it. */
export interface CachedPriorityClass extends KubeObject {
  readonly facts: PriorityClassFacts;
}

/** Reduces a PriorityClass to what priorities of jobs are resolved from. */
export function toCachedPriorityClass(object: KubeObject): CachedPriorityClass {
  const { apiVersion, kind, metadata } = object;
  return { apiVersion, kind, metadata, facts: priorityClassFacts(object) };
}
