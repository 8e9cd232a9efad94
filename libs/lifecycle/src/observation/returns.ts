/** Does a job that made room for another one get its nodes back now? */
import type { Attempt } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import type { RightOfReturn } from '@coxswain/scheduling';
import type { Facts } from './facts.ts';

/** The right of a gang on fewer GPUs than its job asks for, now that the job for which it shrank has ended; undefined: there is none. */
export function returnOf(
  { observed, spec }: Pick<Facts, 'observed' | 'spec'>,
  { epoch, layout }: Attempt,
): RightOfReturn | undefined {
  const isSmaller = spec?.gpus !== undefined && worldSize(layout) < spec.gpus;
  const right = isSmaller ? observed.returnRight?.() : undefined;
  return right?.until !== undefined && epoch > right.epoch ? right : undefined;
}

/** Names the right among the reasons for an early save. */
export function returnKey({ epoch }: Pick<RightOfReturn, 'epoch'>): string {
  return `Returns e${epoch}`;
}
