import type { StepFact } from './engine-facts.ts';
import { StepCollector } from './step-collector.ts';
import { StepThrottle } from './step-throttle.ts';

function aFact(step: number, more: Partial<StepFact> = {}): StepFact {
  return {
    kind: 'step',
    step,
    loss: null,
    tokens: 64,
    stepTimeMs: 5,
    timingsMs: {},
    learningRate: null,
    gradNorm: null,
    ...more,
  };
}

describe('steps of several ranks', () => {
  it('are told once all local ranks have told theirs, with the loss of the rank that knows it', () => {
    const collector = new StepCollector(2);
    expect(collector.push(1, aFact(1, { stepTimeMs: 7 }))).toEqual([]);
    expect(collector.push(0, aFact(1, { loss: 2 }))).toEqual([
      {
        step: 1,
        loss: 2,
        tokens: 64,
        learningRate: null,
        gradNorm: null,
        ranks: [
          { rank: 0, stepTimeMs: 5, timingsMs: {} },
          { rank: 1, stepTimeMs: 7, timingsMs: {} },
        ],
      },
    ]);
  });

  it('do not wait for ever for a rank that says nothing', () => {
    const collector = new StepCollector(2);
    const told = [1, 2, 3, 4, 5, 6].flatMap((step) => collector.push(0, aFact(step)));
    expect(told.map(({ step }) => step)).toEqual([1, 2]);
  });

  it('never go back, and no step is told twice', () => {
    const collector = new StepCollector(1);
    const told = [1, 2, 2, 1, 3].flatMap((step) => collector.push(0, aFact(step)));
    expect(told.map(({ step }) => step)).toEqual([1, 2, 3]);
    expect(collector.late).toBe(2);
  });
});

describe('the throttle', () => {
  it('lets a slow training through untouched', () => {
    const throttle = new StepThrottle<number>(0);
    const steps = Array.from({ length: 100 }, (_, index) => index);
    expect(steps.map((step) => throttle.offer(step, step * 200))).toEqual(steps);
  });

  it('lets twenty steps a second of a fast one through, always the newest', () => {
    const throttle = new StepThrottle<number>(0);
    const told: number[] = [];
    for (let ms = 0; ms < 60_000; ms += 10) {
      const step = throttle.offer(ms, ms);
      if (step !== undefined) told.push(step);
    }
    expect(told.length).toBeGreaterThanOrEqual(20 * 60);
    expect(told.length).toBeLessThanOrEqual(20 * 60 + 40);
    expect(told).toEqual([...told].sort((one, other) => one - other));
    expect(throttle.skipped + told.length).toBeGreaterThanOrEqual(6_000 - 1);
  });

  it('lets as many through as the operator says', () => {
    const throttle = new StepThrottle<number>(0);
    throttle.keepTo(1.5);
    const told = Array.from({ length: 6_000 }, (_, index) => throttle.offer(index, index * 10)).filter(
      (step) => step !== undefined,
    );
    expect(told.length).toBeGreaterThanOrEqual(89);
    expect(told.length).toBeLessThanOrEqual(93);
  });

  it('tells the last step at the end, turn or not', () => {
    const throttle = new StepThrottle<number>(0);
    for (let step = 1; step <= 50; step += 1) throttle.offer(step, 0);
    expect(throttle.flush()).toBe(50);
    expect(throttle.flush()).toBeUndefined();
  });
});
