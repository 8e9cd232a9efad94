import { headerOf, otherJob, type OtherJob, tellOtherJob } from '../testing/held-out/other-job.ts';
import { OTHER_CLEAN, OTHER_FAULTS } from '../testing/held-out/other-jobs.ts';
import type { Verdict } from '../verdict/verdict.ts';
import { watchHealth } from './watch-health.ts';

/** What is so, and blames nobody: reports that are lost, and steps that became slower where somebody makes them so. */
const STATEMENTS: readonly string[] = ['blind', 'slowJob'];

function verdictsOn(job: OtherJob, seed: number): readonly Verdict[] {
  const watch = watchHealth(headerOf(job));
  return [...tellOtherJob(job, seed)].flatMap((record) => watch.observe(record));
}

describe('of a job that the second generator tells', () => {
  it.each(OTHER_CLEAN.map((one) => [one.name, one] as const))('nobody is blamed (%s)', (_name, { job }) => {
    expect(verdictsOn(job, 1).filter(({ kind }) => kind !== 'blind')).toEqual([]);
  });

  it.each(OTHER_FAULTS.map((one) => [one.name, one] as const))(
    'what is wrong is named, and nothing else (%s)',
    (_name, { job, expected, mayBe = [] }) => {
      const kinds: readonly string[] = expected.map(({ kind }) => kind);
      const verdicts = verdictsOn(job, 1).filter(
        ({ kind }) => kinds.includes(kind) || !(STATEMENTS.includes(kind) || mayBe.includes(kind)),
      );
      expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(kinds));
      const ranksOf = (some: readonly { readonly ranks: readonly number[] }[]) =>
        [...new Set(some.flatMap(({ ranks }) => ranks))].sort((a, b) => a - b);
      expect(ranksOf(verdicts)).toEqual(ranksOf(expected));
    },
  );

  it('a slow rank is replaced only when it has cost as much as that does', () => {
    const job = otherJob({ slow: (rank, step) => (rank === 5 && step >= 60 ? 1.5 : 1) });
    const slow = verdictsOn(job, 2).filter(({ kind }) => kind === 'slowRank');
    expect(slow.map(({ action, node }) => [action, node])).toEqual([
      ['advise', 'host-0'],
      ['evict', 'host-0'],
    ]);
    expect(slow[0]?.evidence['timeLostMs']).toBeLessThan(120_000);
    expect(slow[1]?.evidence['timeLostMs']).toBeGreaterThanOrEqual(120_000);
    for (const verdict of slow) expect(verdict.falseAlarmsPerDay).toBeLessThan(1);
  });

  it('the same records give the same verdicts', () => {
    const job = otherJob({ slow: (rank, step) => (rank === 5 && step >= 60 ? 1.5 : 1), lost: 0.2, steps: 120 });
    expect(verdictsOn(job, 3)).toEqual(verdictsOn(job, 3));
  });
});
