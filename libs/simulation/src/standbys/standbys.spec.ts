import fc from 'fast-check';
import { FAILURES } from '../presets/failures.ts';
import { faultsPerNodeDay } from '../presets/fault-rate.ts';
import { standbysFor, unansweredShare } from './erlang-b.ts';
import { answeredShare, type PoolQuestion } from './standby-pool.ts';

const RATE = faultsPerNodeDay(FAILURES.llama3);
const demand = fc.record({
  nodes: fc.integer({ min: 1, max: 5_000 }),
  faultsPerNodeDay: fc.double({ min: 1e-5, max: 0.05, noNaN: true }),
  refillHours: fc.double({ min: 0.1, max: 200, noNaN: true }),
});

describe('faults that find no standby, by Erlang B', () => {
  it.each<[number, number, number, number]>([
    [128, 24, 1, 0.327],
    [128, 24, 2, 0.073],
    [128, 24, 3, 0.012],
    [1_024, 4, 2, 0.113],
    [1_024, 4, 3, 0.024],
    [1_024, 4, 4, 0.004],
  ])('of %d nodes that are replaced in %d h, with %d standbys: %d', (nodes, refillHours, standbys, share) => {
    expect(unansweredShare(standbys, { nodes, refillHours, faultsPerNodeDay: RATE })).toBeCloseTo(share, 3);
  });

  it('are all faults without a standby, and fewer with each more', () => {
    fc.assert(
      fc.property(demand, fc.integer({ min: 0, max: 60 }), (of, standbys) => {
        expect(unansweredShare(0, of)).toBe(1);
        const [now, then] = [unansweredShare(standbys, of), unansweredShare(standbys + 1, of)];
        expect(now === 0 || then < now).toBe(true);
      }),
    );
  });

  it('are the share of the truncated Poisson distribution, which is another form of the formula', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 30, noNaN: true }), fc.integer({ min: 0, max: 40 }), (load, standbys) => {
        const terms = [1];
        for (let count = 1; count <= standbys; count += 1) terms.push(((terms.at(-1) ?? 0) * load) / count);
        const sum = terms.reduce((all, term) => all + term, 0);
        const share = unansweredShare(standbys, { nodes: 1, faultsPerNodeDay: load, refillHours: 24 });
        expect(share).toBeCloseTo((terms.at(-1) ?? 0) / sum, 9);
      }),
    );
  });
});

describe('how many standbys are enough', () => {
  it.each<[number, number, number]>([
    [1_024, 1, 3],
    [1_024, 4, 4],
    [1_024, 24, 10],
    [2_048, 1, 3],
    [2_048, 24, 15],
    [2_048, 72, 34],
  ])('for %d nodes of Llama 3 that are replaced in %d h: %d', (nodes, refillHours, standbys) => {
    expect(standbysFor({ nodes, refillHours, faultsPerNodeDay: RATE })).toBe(standbys);
  });

  it('is none if no node fails, or each is back at once', () => {
    expect(standbysFor({ nodes: 2_048, faultsPerNodeDay: 0, refillHours: 24 })).toBe(0);
    expect(standbysFor({ nodes: 2_048, faultsPerNodeDay: RATE, refillHours: 0 })).toBe(0);
  });

  it('is the fewest with which no more than the wanted share finds none', () => {
    fc.assert(
      fc.property(demand, fc.double({ min: 0.001, max: 0.5, noNaN: true }), (of, most) => {
        const enough = standbysFor(of, most);
        expect(unansweredShare(enough, of)).toBeLessThanOrEqual(most);
        if (enough > 0) expect(unansweredShare(enough - 1, of)).toBeGreaterThan(most);
      }),
    );
  });
});

const aPool = (changes: Partial<PoolQuestion>): PoolQuestion => ({
  nodes: 1_024,
  faultsPerNodeDay: RATE,
  refillHours: 4,
  refillSigma: 0.5,
  standbys: 3,
  refills: 'AtOnce',
  faults: 20_000,
  seed: 1,
  ...changes,
});

describe('a simulated pool of standbys', () => {
  const cases = [1_024, 2_048].flatMap((nodes) =>
    [1, 4, 24, 72].flatMap((refillHours) => {
      const enough = standbysFor({ nodes, faultsPerNodeDay: RATE, refillHours });
      return [...new Set([1, Math.ceil(enough / 2), enough])].map((standbys) => ({ nodes, refillHours, standbys }));
    }),
  );
  it.each(cases)(
    'of $standbys for $nodes nodes with refills of $refillHours h answers within 2 points of Erlang B',
    (of) => {
      const expected = 1 - unansweredShare(of.standbys, { ...of, faultsPerNodeDay: RATE });
      expect(Math.abs(answeredShare(aPool(of)) - expected)).toBeLessThan(0.02);
    },
  );

  it.each([0, 0.5, 1.2])('answers as many whatever the spread of refill times is: %d', (refillSigma) => {
    const expected = 1 - unansweredShare(3, { nodes: 1_024, refillHours: 4, faultsPerNodeDay: RATE });
    expect(Math.abs(answeredShare(aPool({ refillSigma })) - expected)).toBeLessThan(0.02);
  });

  it('that is refilled by new attempts alone answers fewer: each attempt that finds it empty is one more fault', () => {
    const refills = 'NextAttempt';
    // With a refill that takes no time, k faults of k + 1 find a standby.
    expect(answeredShare(aPool({ refills, standbys: 3, refillHours: 1e-6 }))).toBeCloseTo(3 / 4, 2);
    expect(answeredShare(aPool({ refills }))).toBeLessThan(answeredShare(aPool({})));
  });

  it('without standbys answers nothing', () => {
    expect(answeredShare(aPool({ standbys: 0 }))).toBe(0);
    expect(answeredShare(aPool({ standbys: 0, refills: 'NextAttempt' }))).toBe(0);
  });
});
