/** Which words of a layout say nothing, because of another word of it? They are told, lest somebody waits for what they ask. */
import type { ParallelLayout } from '@coxswain/layout';

interface Idle {
  readonly field: string;
  readonly isSaid: (layout: ParallelLayout) => boolean;
  readonly isIdle: (layout: ParallelLayout) => boolean;
  readonly because: string;
}

const hasNoContext = ({ contextParallelDegree = 1 }: ParallelLayout): boolean => contextParallelDegree === 1;
const CONTEXT = 'layout.contextParallelDegree is 1';

const IDLE: readonly Idle[] = [
  {
    field: 'layout.sequence.contextAlgorithm',
    isSaid: ({ sequence }) => sequence?.contextAlgorithm !== undefined,
    isIdle: hasNoContext,
    because: CONTEXT,
  },
  {
    field: 'layout.sequence.causalBalance',
    isSaid: ({ sequence }) => sequence?.causalBalance !== undefined,
    isIdle: hasNoContext,
    because: CONTEXT,
  },
  {
    field: 'layout.sequence.sequenceParallel',
    isSaid: ({ sequence }) => sequence?.sequenceParallel !== undefined,
    isIdle: ({ tensorParallelDegree }) => tensorParallelDegree === 1,
    because: 'layout.tensorParallelDegree is 1',
  },
  {
    field: 'layout.states.reshardAfterForward',
    isSaid: ({ states }) => states?.reshardAfterForward !== undefined,
    isIdle: ({ states }) => states?.zeroStage !== 3,
    because: 'layout.states.zeroStage is not 3',
  },
];

/** One sentence for each. */
export function idleWords(layout: ParallelLayout): readonly string[] {
  return IDLE.filter(({ isSaid, isIdle }) => isSaid(layout) && isIdle(layout)).map(
    ({ field, because }) => `${field} says nothing here: ${because}.`,
  );
}
