import type { PodReference } from './decision.ts';
import type { ObservedPod } from '../look/observed.ts';

export function toReference({ name, uid, resourceVersion }: ObservedPod): PodReference {
  return { name, uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
