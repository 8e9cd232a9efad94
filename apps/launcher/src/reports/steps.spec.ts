import type { StepReport } from '@coxswain/api-types';
import type { StepFact } from '../facts/engine-facts.ts';
import { StepCollector } from './step-collector.ts';
import type { StepLine } from '../step-lines/printed-step.ts';
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

  it.each([
    ['their own', 64, 64],
    ['those that the job says, where no rank knows', null, 1024],
  ])('have tokens: %s', (_sentence, tokens, want) => {
    const collector = new StepCollector(1, { tokensPerStep: 1024 });
    expect(collector.push(0, aFact(1, { tokens }))).toMatchObject([{ tokens: want }]);
  });

  it('do not wait for ever for a rank that says nothing', () => {
    const collector = new StepCollector(2);
    const reported = [1, 2, 3, 4, 5, 6].flatMap((step) => collector.push(0, aFact(step)));
    expect(reported.map(({ step }) => step)).toEqual([1, 2]);
  });

  it('never go back, and no step is told twice', () => {
    const collector = new StepCollector(1);
    const reported = [1, 2, 2, 1, 3].flatMap((step) => collector.push(0, aFact(step)));
    expect(reported.map(({ step }) => step)).toEqual([1, 2, 3]);
    expect(collector.late).toBe(2);
  });
});

function aLine(step: number | null, loss: number | null, more: Partial<StepLine> = {}): StepLine {
  return { step, loss, gradNorm: null, learningRate: null, stepTimeMs: null, ...more };
}

function lossesOf(reports: readonly StepReport[]): readonly (readonly [number, number | null])[] {
  return reports.map(({ step, loss }) => [step, loss]);
}

describe('what an engine prints of a step', () => {
  it('is told alone where no hook tells of steps, with the time that was printed', () => {
    const collector = new StepCollector(2, { hasLines: true });
    const line = aLine(5, 2.5, { gradNorm: 1, learningRate: 0.1, stepTimeMs: 118 });
    expect(collector.note(1, line)).toEqual([
      {
        step: 5,
        loss: 2.5,
        tokens: null,
        gradNorm: 1,
        learningRate: 0.1,
        ranks: [{ rank: 1, stepTimeMs: 118, timingsMs: {} }],
      },
    ]);
  });

  it.each<[string, 'line first' | 'facts first']>([
    ['comes before the hooks have told', 'line first'],
    ['comes after the hooks have told', 'facts first'],
  ])('is joined with what hooks tell where it %s', (_sentence, order) => {
    const collector = new StepCollector(2, { hasLines: true });
    collector.push(0, aFact(1));
    collector.push(1, aFact(1));
    const reported = collector.note(1, aLine(1, 3));
    const facts = (): StepReport[] => [...collector.push(0, aFact(2)), ...collector.push(1, aFact(2))];
    const line = (): StepReport[] => collector.note(1, aLine(2, 2));
    const next = order === 'line first' ? [...line(), ...facts()] : [...facts(), ...line()];
    expect(lossesOf([...reported, ...next])).toEqual([
      [1, 3],
      [2, 2],
    ]);
    expect(next[0]?.ranks.map(({ rank }) => rank)).toEqual([0, 1]);
  });

  it('is that of the rank that holds the loss, whoever prints first', () => {
    const collector = new StepCollector(2, { hasLines: true });
    expect(collector.note(0, aLine(1, null))).toEqual([]);
    expect(lossesOf(collector.note(1, aLine(1, 4)))).toEqual([[1, 4]]);
  });

  it('is not waited for once the next step is done, nor for more than a second', () => {
    const collector = new StepCollector(1, { hasLines: true });
    expect(collector.push(0, aFact(1), 0)).toEqual([]);
    expect(lossesOf(collector.push(0, aFact(2), 10))).toEqual([[1, null]]);
    expect(collector.overdue(1_000)).toEqual([]);
    expect(lossesOf(collector.overdue(1_010))).toEqual([[2, null]]);
    expect(collector.note(0, aLine(2, 1), 1_020)).toEqual([]);
  });

  it('is told without the hooks where they say nothing of its step for 5 s, and at the end where they told all', () => {
    const collector = new StepCollector(1, { hasLines: true });
    collector.push(0, aFact(1, { loss: 1 }), 0);
    collector.note(0, aLine(10, 1), 0);
    expect(collector.overdue(4_999)).toEqual([]);
    expect(lossesOf(collector.overdue(5_000))).toEqual([[10, 1]]);
    collector.push(0, aFact(11), 6_000);
    expect(lossesOf(collector.flush())).toEqual([[11, null]]);
  });

  it('is of the newest step that hooks told of where it names none, and of none where there is no hook', () => {
    const collector = new StepCollector(1, { hasLines: true });
    expect(collector.note(0, aLine(null, 9))).toEqual([]);
    collector.push(0, aFact(7));
    expect(lossesOf(collector.note(0, aLine(null, 2)))).toEqual([[7, 2]]);
  });

  it('keeps no step back where a hook knows the loss, or nobody prints', () => {
    expect(lossesOf(new StepCollector(1, { hasLines: true }).push(0, aFact(1, { loss: 3 })))).toEqual([[1, 3]]);
    expect(lossesOf(new StepCollector(1).push(0, aFact(1)))).toEqual([[1, null]]);
  });
});

describe('a figure that is no finite number', () => {
  it('is told by its word, without waiting for a line that knows better', () => {
    const collector = new StepCollector(2, { hasLines: true });
    collector.push(0, aFact(1));
    const [reported] = collector.push(1, aFact(1, { notFinite: { loss: 'NaN', gradNorm: 'Infinity' } }));
    expect(reported).toMatchObject({ loss: null, gradNorm: null, notFinite: { loss: 'NaN', gradNorm: 'Infinity' } });
  });

  it('is that of the line where hooks do not know it', () => {
    const collector = new StepCollector(1, { hasLines: true });
    collector.push(0, aFact(1));
    expect(collector.note(0, aLine(1, null, { notFinite: { loss: '-Infinity' } }))).toMatchObject([
      { step: 1, loss: null, notFinite: { loss: '-Infinity' } },
    ]);
  });

  it('is a number where another rank knows one', () => {
    const collector = new StepCollector(2);
    collector.push(0, aFact(1, { notFinite: { loss: 'NaN' } }));
    const [reported] = collector.push(1, aFact(1, { loss: 2 }));
    expect(reported).toMatchObject({ loss: 2 });
    expect(reported).not.toHaveProperty('notFinite');
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
    const reported: number[] = [];
    for (let ms = 0; ms < 60_000; ms += 10) {
      const step = throttle.offer(ms, ms);
      if (step !== undefined) reported.push(step);
    }
    expect(reported.length).toBeGreaterThanOrEqual(20 * 60);
    expect(reported.length).toBeLessThanOrEqual(20 * 60 + 40);
    expect(reported).toEqual([...reported].sort((one, other) => one - other));
    expect(throttle.skipped + reported.length).toBeGreaterThanOrEqual(6_000 - 1);
  });

  it('lets as many through as the operator says', () => {
    const throttle = new StepThrottle<number>(0);
    throttle.setRate(1.5);
    const reported = Array.from({ length: 6_000 }, (_, index) => throttle.offer(index, index * 10)).filter(
      (step) => step !== undefined,
    );
    expect(reported.length).toBeGreaterThanOrEqual(89);
    expect(reported.length).toBeLessThanOrEqual(93);
  });

  it('tells the last step at the end, turn or not', () => {
    const throttle = new StepThrottle<number>(0);
    for (let step = 1; step <= 50; step += 1) throttle.offer(step, 0);
    expect(throttle.flush()).toBe(50);
    expect(throttle.flush()).toBeUndefined();
  });
});
