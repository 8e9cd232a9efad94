import { aPlannedJobSpec } from '@coxswain/api-types/testing';
import type { PlanAnswer } from '@coxswain/planner';
import { aPlan, aPlanAnswer } from '@coxswain/planner/testing';
import { noLayout, plannerRefuses, whyNothingFits } from './refusals.ts';

const cluster = { gpu: 'h100', gpus: 7 };
const spec = aPlannedJobSpec({ gpus: 7 });
const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 7, dataParallelDegree: 1 };
const nothing = { ...aPlanAnswer(), best: undefined, closest: undefined, plans: [], ruledOut: [] };
const closest = (relax: readonly string[]): NonNullable<PlanAnswer['closest']> => ({
  plan: { ...aPlan(), layout },
  exceedsGib: 3.14159,
  relax: [...relax],
});

describe('why no layout can be had', () => {
  it.each([
    [
      'what fits is beyond the engine',
      { ...nothing, best: { ...aPlan(), layout } },
      'what fits, such as pp7, is beyond engine "reference".',
    ],
    [
      'the closest needs more memory',
      { ...nothing, closest: closest([]) },
      'the closest, pp7, needs 3.1 GiB more per GPU than there is.',
    ],
    [
      'what would help is added',
      { ...nothing, closest: closest(['allow recomputation', 'more GPUs']) },
      'needs 3.1 GiB more per GPU than there is; allow recomputation.',
    ],
    [
      'the first rule that ruled everything out',
      { ...nothing, ruledOut: [{ rule: 'heads', count: 9, example: '7 does not divide 4 heads' }] },
      '7 does not divide 4 heads.',
    ],
    [
      'where nothing is known, that nothing divides',
      nothing,
      'no combination of degrees divides the model and the batch.',
    ],
  ])('%s', (_sentence, answer, want) => {
    const message = whyNothingFits({ spec, cluster, answer: answer as PlanAnswer });
    expect(message).toMatch(/^No layout on 7 h100 GPUs can train this: /);
    expect(message.endsWith(want)).toBe(true);
  });

  it('what the engine says of it is added', () => {
    const answer = { ...nothing, best: { ...aPlan(), layout } } as PlanAnswer;
    expect(whyNothingFits({ spec, cluster, answer, beyond: 'it knows no pipeline' })).toBe(
      'No layout on 7 h100 GPUs can train this: what fits, such as pp7, is beyond engine "reference": it knows no pipeline.',
    );
  });

  it.each([
    ['a reason of our own', (text: string) => noLayout(cluster, text)],
    ['the planner’s words', plannerRefuses],
  ])('%s keeps to the length that the field has', (_sentence, refusalOf) => {
    expect(refusalOf('short')).toContain('short');
    expect(refusalOf('x'.repeat(10_000))).toHaveLength(2_048);
  });
});
