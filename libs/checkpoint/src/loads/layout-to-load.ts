import { isSameLayout } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { isUniversal } from '../formats/deepspeed/deepspeed.ts';

const UNIVERSAL = 'deepspeed-universal';

/** The layout with the fields that its engine needs to load a save of this format. DeepSpeed loads the universal format only if its configuration says so. */
export function layoutToLoad(layout: ParallelLayout, format: string): ParallelLayout {
  if (format !== UNIVERSAL || isUniversal(layout)) return layout;
  return { ...layout, checkpointPolicy: { ...layout.checkpointPolicy, format: UNIVERSAL } };
}

/** Whether two layouts divide the work alike: they can differ in the format of checkpoints. */
export function isSameDivision(one: ParallelLayout, other: ParallelLayout): boolean {
  return isSameLayout(layoutToLoad(one, UNIVERSAL), layoutToLoad(other, UNIVERSAL));
}
