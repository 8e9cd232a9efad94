import type { PodReference } from './decision.ts';

/** A reference to the object in its observed version. */
export function toReference({ name, uid, resourceVersion }: PodReference): PodReference {
  return { name, uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
