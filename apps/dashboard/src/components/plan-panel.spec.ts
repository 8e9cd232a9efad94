/** What the page of a job says of its plan. */
import type { JobPlan } from '@coxswain/api-types';
import { createElement } from 'react';
import { PlanPanel } from './plan-panel.tsx';
import { markupOf, textOf } from './testing/rendered.ts';

const PLAN: JobPlan = {
  chosenBy: 'Planner',
  gpus: 4,
  fabric: '2 nodes with 2 GPUs each',
  layout: { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 },
  microBatchSize: 4,
  predictedStepMs: 1_240,
  plannerVersion: '1',
  plannedAt: '2026-01-01T00:00:00Z',
};
const panel = (changes: Partial<JobPlan> = {}) => createElement(PlanPanel, { plan: { ...PLAN, ...changes } });
/** The same without one of its fields. */
const without = (field: keyof JobPlan) =>
  createElement(PlanPanel, {
    plan: Object.fromEntries(Object.entries(PLAN).filter(([name]) => name !== field)) as JobPlan,
  });

describe('the plan of a job', () => {
  it('is one sentence, and what it was planned for', () => {
    expect(textOf(panel())).toBe(
      'Chosen by the planner tp2 x dp2, micro-batch 4: 1,240 ms per step. Planned for 2 nodes with 2 GPUs each.',
    );
  });

  it.each<[string, Partial<JobPlan>, string]>([
    ['that the planner chose it', {}, 'Chosen by the planner tp2'],
    ['that the user chose it', { chosenBy: 'User' }, 'Predicted by the planner tp2'],
    [
      'the memory of a GPU, if it fits',
      { predictedPeakBytes: 2 ** 34, verdict: 'fits' },
      '16.0 GiB per GPU, which fits.',
    ],
    [
      'the interval in which four of five such steps lie',
      { predictedStepLowMs: 912.4, predictedStepHighMs: 1_600 },
      '1,240 ms per step (80 % interval: 912 ms to 1,600 ms).',
    ],
    ['that memory is tight', { predictedPeakBytes: 2 ** 34, verdict: 'tight' }, '16.0 GiB per GPU, which is tight.'],
    [
      'that memory does not suffice',
      { predictedPeakBytes: 2 ** 34, verdict: 'doesNotFit' },
      '16.0 GiB per GPU, which does not fit.',
    ],
    [
      'a verdict of a newer server as it is',
      { predictedPeakBytes: 2 ** 34, verdict: 'needsOffload' as 'fits' },
      '16.0 GiB per GPU, which needsOffload.',
    ],
    ['how far off such predictions were', { errorStatement: 'Median error 4 %.' }, 'per step. Median error 4 %.'],
    ['why stages are as they are', { whyStages: 'Stage 0 is in ib-0.' }, 'Stage 0 is in ib-0.'],
    [
      'the next best layouts, best first',
      {
        runnersUp: [
          { layout: 'dp4', microBatchSize: 1, predictedStepMs: 1_300, predictedPeakBytes: 1 },
          { layout: 'tp4', microBatchSize: 2, predictedStepMs: 2_000, predictedPeakBytes: 1 },
        ],
      },
      'Next best: dp4, micro-batch 1 (1,300 ms); tp4, micro-batch 2 (2,000 ms)',
    ],
  ])('says %s', (_what, changes, words) => {
    expect(textOf(panel(changes))).toContain(words);
  });

  it.each<[string, Partial<JobPlan>, string]>([
    ['memory without a verdict', { predictedPeakBytes: 2 ** 34 }, 'GiB'],
    ['a verdict without memory', { verdict: 'fits' }, 'fits'],
    ['others if there are none', {}, 'Next best'],
    ['an interval with one end', { predictedStepLowMs: 900 }, '900'],
    ['an interval with the other end', { predictedStepHighMs: 900 }, '900'],
  ])('does not speak of %s', (_what, changes, words) => {
    expect(textOf(panel(changes))).not.toContain(words);
  });

  it('has a micro-batch of 1 if the planner named none', () => {
    expect(textOf(without('microBatchSize'))).toContain('micro-batch 1:');
  });

  it.each<[keyof JobPlan]>([['layout'], ['predictedStepMs']])(
    'is nothing without %s: the planner had no answer',
    (field) => {
      expect(markupOf(without(field))).toBe('');
    },
  );
});
