import type { ParallelLayout } from '@coxswain/layout';
import { assumedTraffic } from './assumed-traffic.ts';

const LAYOUT: ParallelLayout = { tensorParallelDegree: 2, pipelineParallelDegree: 2, dataParallelDegree: 2 };

/** `tensor ring 0 1|2 3` of each kind. */
function shown(layout: ParallelLayout): readonly string[] {
  return assumedTraffic(layout).byKind.map(
    ({ kind, pattern, groups }) => `${kind} ${pattern} ${groups.map((group) => group.join(' ')).join('|')}`,
  );
}

describe('assumed traffic', () => {
  it.each<readonly [sentence: string, layout: ParallelLayout, want: readonly string[]]>([
    [
      'names the groups of the layout',
      LAYOUT,
      ['tensor ring 0 1|2 3|4 5|6 7', 'data ring 0 2|1 3|4 6|5 7', 'pipeline chain 0 4|1 5|2 6|3 7'],
    ],
    ['leaves groups of one out', { ...LAYOUT, tensorParallelDegree: 1, pipelineParallelDegree: 1 }, ['data ring 0 1']],
    [
      'follows the order of ranks',
      { ...LAYOUT, rankOrder: ['tensor', 'pipeline', 'data'] },
      ['tensor ring 0 1|2 3|4 5|6 7', 'data ring 0 4|1 5|2 6|3 7', 'pipeline chain 0 2|1 3|4 6|5 7'],
    ],
    [
      'sums gradients over context ranks too, and deals experts out anew',
      {
        tensorParallelDegree: 1,
        pipelineParallelDegree: 1,
        dataParallelDegree: 2,
        contextParallelDegree: 2,
        expert: { expertParallelDegree: 2 },
      },
      ['context ring 0 1|2 3', 'expert allToAll 0 1|2 3', 'data ring 0 1 2 3', 'expertData ring 0 2|1 3'],
    ],
  ])('%s', (_sentence, layout, want) => {
    expect(shown(layout)).toEqual(want);
  });

  it('says that it is assumed', () => {
    expect(assumedTraffic(LAYOUT).source).toBe('assumed');
  });
});
