/** From where does a run of an attempt begin, in words? */
import type { Attempt } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';

/** What a run begins from. */
export type RunStart = Pick<Attempt, 'resumedFrom' | 'memorySave'>;

/** `from step 40 (checkpoint tiny-3f1c2b9e-e1-s40)`, or `from step 57 (in the memory of its pods)` */
export function describePoint({ resumedFrom, memorySave }: RunStart): string {
  if (memorySave !== undefined) return `from step ${memorySave.step} (in the memory of its pods)`;
  return resumedFrom === undefined
    ? 'from scratch'
    : `from step ${resumedFrom.step} (checkpoint ${resumedFrom.checkpoint})`;
}

/** Whether a save in memory is newer is known only when no rank runs any more, so this sentence names none. */
export function pointAtRestart({ resumedFrom }: RunStart, { spec }: Facts): string {
  const point = describePoint({ resumedFrom });
  return spec?.checkpoint?.memory === undefined
    ? point
    : `${point}, or from a newer save in memory that all of them have`;
}
