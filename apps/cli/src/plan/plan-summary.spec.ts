import { PlanRequest, type PlanAnswer } from '@coxswain/planner';
import { aPlan, aPlanAnswer, aPrediction } from '@coxswain/planner/testing';
import { planSummary } from './plan-summary.ts';

const REQUEST = PlanRequest.parse({
  model: 'llama-3.1-70b',
  cluster: { gpu: 'h100', gpus: 512 },
  globalBatchSize: 1024,
  sequenceLength: 8192,
});
const SCREEN = { columns: 100, lines: 24 };

function summaryOf(change: Partial<PlanAnswer> = {}, top?: number): string {
  return planSummary(REQUEST, aPlanAnswer(change), { width: undefined, top });
}

describe('the summary of a plan', () => {
  it.each<[string, RegExp, Partial<PlanAnswer>?]>([
    ['begins with the best layout', /^Llama 3\.1 70B on 512[\s\S]*\nLayout +tp4 x dp128 on 512 GPUs\n/],
    [
      'has the evidence of the step time',
      /\nEvidence +321 measured step times outside the fit: median error 4\.2 %, 90th percentile 14\.0 %\n/,
    ],
    ['has the first assumption and how many follow', /\nAssumed +a; 2 more\n/, { assumptions: ['a', 'b', 'c'] }],
    ['has an assumption that is alone', /\nAssumed +a\n/, { assumptions: ['a'] }],
    [
      'has the constraint that excluded most',
      /\nExcluded +9,600 of 51,234 combinations by heads-divide, for example: tensorParallelDegree 16 does not divide/,
    ],
    ['has no constraint where none excluded any', /\nExcluded +no constraint excluded any of 51,234/, { ruledOut: [] }],
    ['names the option for the rest', /\nAdd --explain for the parts of a step/],
  ])('%s', (_sentence, text, change = {}) => {
    expect(summaryOf(change)).toMatch(text);
  });

  it('shows three runners-up, or as many layouts as --top asks for', () => {
    const plans = Array.from({ length: 6 }, () => aPlan());
    const rowsOf = (text: string): number => text.split('\n').filter((line) => /^\d +tp/.test(line)).length;
    expect(rowsOf(summaryOf({ plans }))).toBe(4);
    expect(rowsOf(summaryOf({ plans }, 6))).toBe(6);
  });

  it('fits one screen', () => {
    const plans = Array.from({ length: 6 }, () => aPlan());
    const assumptions = Array.from(
      { length: 12 },
      (_, index) => `assumption ${index} of a request that leaves much open`,
    );
    const answer = aPlanAnswer({ plans, assumptions, best: aPlan({ trainingHours: 417, costUsd: 1_234_567 }) });
    const lines = planSummary(REQUEST, answer, { width: SCREEN.columns }).split('\n');
    expect(lines.length).toBeLessThanOrEqual(SCREEN.lines);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(SCREEN.columns);
  });

  it('has the evidence of the closest layout where nothing fits', () => {
    const plan = aPlan({ prediction: aPrediction({ verdict: 'doesNotFit', peakGib: 91.2 }) });
    const { best: _, ...answer } = aPlanAnswer({ plans: [], closest: { plan, exceedsGib: 11.6, relax: [] } });
    expect(planSummary(REQUEST, answer, { width: undefined })).toMatch(/Nothing fits[\s\S]*\nEvidence +321 measured/);
  });
});
