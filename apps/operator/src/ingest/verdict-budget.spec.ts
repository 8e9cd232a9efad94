import { VerdictBudget } from './verdict-budget.ts';

const ADVICE = { kind: 'hang', action: 'advise' } as const;

function admitted(budget: VerdictBudget, verdict: Parameters<VerdictBudget['admits']>[0], times: number, nowMs = 0) {
  return Array.from({ length: times }, () => budget.admits(verdict, nowMs)).filter(Boolean).length;
}

describe('the bound on reported verdicts', () => {
  it.each([
    ['admits 16 of a kind that only advise', ADVICE, 40, 16],
    ['admits every verdict that replaces a node', { ...ADVICE, action: 'evict' }, 40, 40],
    ['admits every verdict that stops a program', { kind: 'desync', action: 'stop' }, 40, 40],
  ] as const)('%s', (_what, verdict, times, passed) => {
    expect(admitted(new VerdictBudget(), verdict, times)).toBe(passed);
  });

  it('admits a verdict that ends a gang after any amount of advice, and the reverse', () => {
    const budget = new VerdictBudget();
    admitted(budget, ADVICE, 40);
    expect(budget.admits({ ...ADVICE, action: 'evict' }, 0)).toBe(true);
    expect(admitted(budget, { kind: 'slowRank', action: 'evict' }, 40)).toBe(40);
    expect(admitted(budget, { kind: 'slowRank', action: 'advise' }, 40)).toBe(16);
  });

  it('admits one more after ten minutes, and never more than 16 at once', () => {
    const budget = new VerdictBudget();
    admitted(budget, ADVICE, 40);
    expect(admitted(budget, ADVICE, 40, 599_999)).toBe(0);
    expect(admitted(budget, ADVICE, 40, 600_000)).toBe(1);
    expect(admitted(budget, ADVICE, 40, 86_400_000)).toBe(16);
  });
});
