import { formatCount } from '@coxswain/units';
import type { Constraint, TriedChange } from '@coxswain/scheduling';

/** Why a job does not start now, in a sentence. It names no other job. */
export function constraintSentence({ kind, gpuType, needed, free }: Constraint, isNext: boolean): string {
  const ofType = gpuType === undefined ? '' : ` of type ${gpuType}`;
  switch (kind) {
    case 'Gpus':
      return `Needs ${formatCount(needed, 'GPU')}${ofType}; ${free} ${are(free)} free.`;
    case 'Nodes':
      return `Needs ${formatCount(needed, 'empty node')}${ofType}; ${free} ${are(free)} empty, although enough GPUs are free on partly used nodes.`;
    case 'Quota':
      return `A ResourceQuota of the namespace leaves too few GPUs for its ${formatCount(needed, 'GPU')}.`;
    case 'JobsAhead':
      return isNext
        ? `Needs ${formatCount(needed, 'GPU')}; ${free} ${are(free)} free now, but some of them are needed again before the job would end.`
        : `Needs ${formatCount(needed, 'GPU')}; ${free} ${are(free)} free and go to jobs ahead of it.`;
    case 'Placement':
      return `Enough GPUs are free for its ${formatCount(needed, 'GPU')}. It is placed next, unless they are not connected as it needs.`;
  }
}

function are(count: number): string {
  return count === 1 ? 'is' : 'are';
}

/** A change that helps, in a sentence. */
export function changeSentence({ kind, amount, gpuType }: TriedChange, gpus: number): string {
  switch (kind) {
    case 'MoreNodes':
      return `Add ${formatCount(amount ?? 0, 'empty node')}${gpuType === undefined ? '' : ` of type ${gpuType}`}.`;
    case 'FewerGpus':
      return `Ask for ${formatCount(amount ?? 0, 'GPU')} instead of ${gpus}.`;
    case 'HigherPriority':
      return 'Give it a higher priority, so that it is first in line.';
  }
}
