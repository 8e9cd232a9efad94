/** Lists fields of a layout that have no effect because of another field. Notes name them, so that nobody expects an effect. */
import type { ParallelLayout } from '@coxswain/layout';

interface IgnoredField {
  readonly field: string;
  readonly isGiven: (layout: ParallelLayout) => boolean;
  readonly isIgnored: (layout: ParallelLayout) => boolean;
  readonly because: string;
}

const hasNoContext = ({ contextParallelDegree = 1 }: ParallelLayout): boolean => contextParallelDegree === 1;
const CONTEXT = 'layout.contextParallelDegree is 1';

const IGNORED_FIELDS: readonly IgnoredField[] = [
  {
    field: 'layout.sequence.contextAlgorithm',
    isGiven: ({ sequence }) => sequence?.contextAlgorithm !== undefined,
    isIgnored: hasNoContext,
    because: CONTEXT,
  },
  {
    field: 'layout.sequence.causalBalance',
    isGiven: ({ sequence }) => sequence?.causalBalance !== undefined,
    isIgnored: hasNoContext,
    because: CONTEXT,
  },
  {
    field: 'layout.sequence.sequenceParallel',
    isGiven: ({ sequence }) => sequence?.sequenceParallel !== undefined,
    isIgnored: ({ tensorParallelDegree }) => tensorParallelDegree === 1,
    because: 'layout.tensorParallelDegree is 1',
  },
  {
    field: 'layout.states.reshardAfterForward',
    isGiven: ({ states }) => states?.reshardAfterForward !== undefined,
    isIgnored: ({ states }) => states?.zeroStage !== 3,
    because: 'layout.states.zeroStage is not 3',
  },
];

/** One sentence for each field that has no effect. */
export function ignoredFields(layout: ParallelLayout): readonly string[] {
  return IGNORED_FIELDS.filter(({ isGiven, isIgnored }) => isGiven(layout) && isIgnored(layout)).map(
    ({ field, because }) => `${field} has no effect: ${because}.`,
  );
}
