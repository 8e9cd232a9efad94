import type { Plan, PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { plan } from './plan.ts';

/** 70B on 64 H100: fastest with all of Adam on the host. Few choices, so that a test takes a moment. */
const REQUEST: PlanRequestInput = {
  model: 'llama-3.1-70b',
  cluster: { gpu: 'h100', gpus: 64 },
  globalBatchSize: 512,
  sequenceLength: 8192,
  pinned: { tensor: 4, context: 1, microBatchSize: 1, schedule: '1f1b', zeroStage: 1 },
};
const plansOf = (over: Partial<PlanRequestInput> = {}): readonly Plan[] =>
  plan(parsePlanRequest({ ...REQUEST, ...over }), { withAdvice: false }).plans;
const onHost = ({ layout }: Plan): number => layout.memory?.offload?.length ?? 0;
const timesOf = (plans: readonly Plan[]): readonly number[] => plans.map(({ prediction }) => prediction.stepTimeS);

describe('layouts that keep something on the host', () => {
  it('come after one that does not, which takes the place of the last', () => {
    const plans = plansOf();
    expect(plans).toHaveLength(5);
    expect(plans.filter((one) => onHost(one) === 0)).toHaveLength(1);
    expect(plans.map(onHost)).toEqual([0, 1, 1, 1, 1]);
    const [, , ...others] = timesOf(plans);
    expect(others).toEqual([...others].sort((a, b) => a - b));
    const [alone] = plansOf({ allow: { offload: false } });
    expect(plans.find((one) => onHost(one) === 0)?.layout).toEqual(alone?.layout);
  });

  it.each<[string, Partial<PlanRequestInput>]>([
    ['one layout is asked for', { top: 1 }],
    ['the smallest are asked for', { objective: 'memory' }],
    ['it is pinned there', { pinned: { ...REQUEST.pinned, offloadOptimizer: 1 } }],
    ['no other fits', { cluster: { gpu: 'h100', gpus: 16 } }],
    ['the others do not meet the deadline', { tokens: 512 * 8192 * 1000, deadlineHours: (1000 * 60.3) / 3600 }],
  ])('are told alone where %s', (_sentence, over) => {
    const plans = plansOf(over);
    expect(plans.length).toBeGreaterThan(0);
    expect(plans.every((one) => onHost(one) > 0)).toBe(true);
  });
});
