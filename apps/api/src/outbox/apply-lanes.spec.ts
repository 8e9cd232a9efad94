import { type ApplyLease, ApplyLanes } from './apply-lanes.ts';

/** Eight workers, and a clock that the test moves. */
class Setup {
  nowMs = 0;
  readonly lanes = new ApplyLanes({ workers: 8, nowMs: () => this.nowMs });

  /** Takes as many workers as the project gets, at most two at a time as its turns are. */
  enter(turnId: string): ApplyLease | undefined {
    return this.lanes.enter(turnId);
  }

  /** One apply that takes so long. */
  apply(turnId: string, tookMs: number): ApplyLease | undefined {
    const lease = this.enter(turnId);
    this.nowMs += Math.min(tookMs, lease?.budgetMs ?? 0);
    lease?.end();
    return lease;
  }
}

const budgets = (leases: readonly (ApplyLease | undefined)[]): readonly (number | undefined)[] =>
  leases.map((lease) => lease?.budgetMs);

describe('the workers of a replica', () => {
  it('serve a project whose applies end quickly, with a short time for each', () => {
    const setup = new Setup();
    expect(budgets([setup.enter('a'), setup.enter('a'), setup.apply('b', 10), setup.enter('b')])).toEqual([
      2_000, 2_000, 2_000, 2_000,
    ]);
  });

  it('serve a project whose last apply ran over time one at a time, with a longer time', () => {
    const setup = new Setup();
    setup.apply('a', 60_000);
    const first = setup.enter('a');
    expect(budgets([first, setup.enter('a')])).toEqual([15_000, undefined]);
    first?.end();
    expect(setup.enter('a')?.budgetMs).toBe(15_000);
  });

  it('do not forgive a project for turns that found no entry', () => {
    const setup = new Setup();
    setup.apply('a', 60_000);
    for (let turn = 0; turn < 5; turn += 1) setup.enter('a')?.end({ hasApplied: false });
    expect(setup.enter('a')?.budgetMs).toBe(15_000);
  });

  it('do not count a project in trouble that has had no change for ten minutes', () => {
    const setup = new Setup();
    setup.apply('a', 60_000);
    setup.apply('a', 10);
    expect(setup.lanes.inTrouble).toBe(1);
    setup.nowMs += 600_001;
    expect(setup.lanes.inTrouble).toBe(0);
  });

  it('are half for projects in trouble, however many there are; others get theirs', () => {
    const setup = new Setup();
    const hung = Array.from({ length: 20 }, (_, index) => `hung-${index}`);
    for (const turnId of hung) setup.apply(turnId, 60_000);
    const leases = hung.map((turnId) => setup.enter(turnId));
    expect(leases.filter((lease) => lease !== undefined)).toHaveLength(4);
    expect(setup.enter('healthy')?.budgetMs).toBe(2_000);
  });

  it('serve projects in trouble in turn: none waits for ever', () => {
    const setup = new Setup();
    const hung = Array.from({ length: 9 }, (_, index) => `hung-${index}`);
    for (const turnId of hung) setup.apply(turnId, 60_000);
    const served = new Map<string, number>();
    let running: ApplyLease[] = [];
    for (let second = 0; second < 45; second += 1) {
      // The same order each time, as turns are found in the order of their ids.
      for (const turnId of hung) {
        const lease = setup.enter(turnId);
        if (lease === undefined) continue;
        running.push(lease);
        served.set(turnId, (served.get(turnId) ?? 0) + 1);
      }
      setup.nowMs += 1_000;
      if (second % 3 !== 2) continue;
      for (const lease of running) lease.end();
      running = [];
    }
    expect(served.size).toBe(9);
    expect(Math.max(...served.values())).toBeLessThanOrEqual(2 * Math.min(...served.values()));
  });

  it.each([
    ['after three quick applies in a row', [10, 10, 10], 2_000],
    ['not after quick ones with a slow one among them', [10, 10, 5_000, 10, 10], 15_000],
    ['not if every other apply hangs', [10, 60_000, 10, 60_000, 10], 15_000],
  ])('count a project as out of trouble %s', (_sentence, tookMs, want) => {
    const setup = new Setup();
    setup.apply('a', 60_000);
    for (const ms of tookMs) setup.apply('a', ms);
    expect(setup.enter('a')?.budgetMs).toBe(want);
  });

  it('forget projects in trouble that have no more changes', () => {
    const setup = new Setup();
    for (let index = 0; index < 5_000; index += 1) setup.apply(`gone-${index}`, 60_000);
    expect(setup.lanes.inTrouble).toBeLessThanOrEqual(600);
  });
});
