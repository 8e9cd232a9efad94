import { type Overrun, TELEMETRY_BOUNDS, TelemetryBudget } from './telemetry-budget.ts';

const BOUNDS = { base: 100, perRank: 10, job: 400, namespace: 600, all: 1_000 };

/** Jobs of a budget: `name: [namespace, ranks]`. Notes which had to give way, and why. */
class Setup {
  readonly budget = new TelemetryBudget(BOUNDS);
  readonly dropped: (readonly [string, Overrun])[] = [];

  constructor(jobs: Readonly<Record<string, readonly [string, number]>>) {
    for (const [name, [namespace, ranks]] of Object.entries(jobs)) {
      this.budget.open(name, { namespace, ranks, drop: (overrun) => void this.dropped.push([name, overrun]) });
    }
  }

  hold(bytes: Readonly<Record<string, number>>): this {
    for (const [name, held] of Object.entries(bytes)) this.budget.set(name, held);
    return this;
  }

  /** `name bound`, in the order in which they gave way. */
  get gaveWay(): readonly string[] {
    return this.dropped.map(([name, { bound }]) => `${name} ${bound}`);
  }
}

describe('memory of reports', () => {
  it.each<
    [string, Readonly<Record<string, readonly [string, number]>>, Readonly<Record<string, number>>, readonly string[]]
  >([
    ['a job within its share keeps all', { a: ['n', 4] }, { a: 140 }, []],
    [
      'a job above the share of its ranks gives way itself',
      { a: ['n', 4], b: ['n', 8] },
      { b: 180, a: 141 },
      ['a job'],
    ],
    ['no job has more than the most of one, however many ranks it has', { a: ['n', 1_000] }, { a: 401 }, ['a job']],
    [
      'a namespace within its share keeps all',
      { big: ['n', 30], small: ['n', 2], other: ['m', 1] },
      { other: 110, small: 100, big: 400 },
      [],
    ],
    [
      'above the share of a namespace its job with most for each rank gives way, and no job of another one',
      { big: ['n', 30], second: ['n', 30], small: ['n', 2], other: ['m', 1] },
      { other: 110, small: 100, second: 200, big: 400 },
      ['small namespace'],
    ],
    [
      'above the share of all many small jobs of many namespaces give way, and the large one does not',
      { big: ['n', 30], ...Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`s${i}`, [`m${i}`, 1] as const])) },
      { big: 400, ...Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`s${i}`, 100])) },
      ['s0 all', 's1 all'],
    ],
    ['a job whose account was never opened holds nothing', { a: ['n', 1] }, { b: 5_000 }, []],
  ])('%s', (_, jobs, bytes, gaveWay) => {
    expect(new Setup(jobs).hold(bytes).gaveWay).toEqual(gaveWay);
  });

  it('tells whom it drops how much was held, and of which limit', () => {
    expect(new Setup({ a: ['n', 4] }).hold({ a: 141 }).dropped).toEqual([
      ['a', { bound: 'job', heldBytes: 141, limitBytes: 140 }],
    ]);
  });

  it('counts a dropped job as nothing, and drops it once', () => {
    const { budget, dropped } = new Setup({ a: ['n', 4] }).hold({ a: 141 });
    budget.set('a', 141);
    expect([budget.bytes, budget.size, dropped.length]).toEqual([0, 0, 1]);
  });

  it('ends with the job, and begins anew with its next run', () => {
    const setup = new Setup({ a: ['n', 4], b: ['n', 4] }).hold({ a: 140, b: 100 });
    setup.budget.open('a', { namespace: 'n', ranks: 4, drop: () => undefined });
    expect([setup.budget.bytes, setup.budget.size]).toEqual([100, 2]);
    for (const name of ['a', 'b', 'b']) setup.budget.close(name);
    expect([setup.budget.bytes, setup.budget.size]).toEqual([0, 0]);
  });

  it('has room for the largest job, and less in all than half of the heap of the thread', () => {
    const { base, perRank, job, all } = TELEMETRY_BOUNDS;
    expect(Math.min(job, base + perRank * 16_384)).toBe(job);
    expect(all).toBeLessThan(0.5 * 384 * 1_048_576);
  });
});
