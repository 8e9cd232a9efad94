import type { PodReference } from './decision.ts';

/** The object as it is seen now. */
export function toReference({ name, uid, resourceVersion }: PodReference): PodReference {
  return { name, uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
