import fc from 'fast-check';
import { slowMsOf, type StepCost } from './slow-cost.ts';

const at = (seconds: number): string => new Date(1000 * seconds).toISOString();
/** Steps of 2 s from second 100 to second 200. */
const RUN = { epoch: 1, incarnation: 1, firstMs: 100_000, lastMs: 200_000, stepMs: 2_000 };
const cost = (from: number, to: number | undefined, costMsPerStep: number, incarnation = 1): StepCost => ({
  epoch: 1,
  incarnation,
  noticedAt: at(from),
  ...(to === undefined ? {} : { closedAt: at(to) }),
  costMsPerStep,
});

describe('what slow ranks cost a run', () => {
  it.each<[string, readonly StepCost[], number | undefined]>([
    ['nothing is told', [], undefined],
    ['a quarter of each step, for 40 s', [cost(120, 160, 500)], 10_000],
    ['until the last step, where it is not over', [cost(180, undefined, 1_000)], 10_000],
    ['what was before the first step and after the last does not count', [cost(0, 900, 200)], 10_000],
    ['where two are slow at once the slower one counts', [cost(120, 160, 500), cost(140, 180, 1_000)], 5_000 + 20_000],
    ['never more than the steps have', [cost(0, undefined, 1e9)], 100_000],
    ['one of another run is none', [cost(120, 160, 500, 2)], undefined],
  ])('%s', (_sentence, costs, want) => {
    expect(slowMsOf(costs, RUN)).toBe(want);
  });

  it('is nothing below none and nothing beyond the run, whatever is told', () => {
    const some = fc.array(
      fc.tuple(fc.integer({ min: -500, max: 500 }), fc.option(fc.integer({ min: -500, max: 500 })), fc.double()),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(some, (ledger) => {
        const ms = slowMsOf(
          ledger.map(([from, to, price]) => cost(from, to ?? undefined, price)),
          RUN,
        );
        expect(ms ?? 0).toBeGreaterThanOrEqual(0);
        expect(ms ?? 0).toBeLessThanOrEqual(100_000);
      }),
    );
  });
});
