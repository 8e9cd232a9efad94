import { headerOf, otherJob, type OtherJob, traceOtherJob } from '../testing/held-out/other-job.ts';
import { OTHER_CLEAN, OTHER_FAULTS } from '../testing/held-out/other-jobs.ts';
import type { RecordOf, TraceRecord } from '../trace/records.ts';
import type { Verdict } from '../verdict/verdict.ts';
import { watchHealth } from './watch-health.ts';

/** What is so, and blames nobody: reports that are lost, and steps that became slower where somebody makes them so. */
const STATEMENTS: readonly string[] = ['blind', 'slowJob'];

function verdictsOn(job: OtherJob, seed: number): readonly Verdict[] {
  const watch = watchHealth(headerOf(job));
  return [...traceOtherJob(job, seed)].flatMap((record) => watch.observe(record));
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

  describe('where parts are told of every eighth step', () => {
    const slowFrom60 = (rank: number, step: number): number => (rank === 5 && step >= 60 ? 1.5 : 1);
    const sampled = otherJob({ slow: slowFrom60, timings: 'sampled', stepMs: 1_000, steps: 900 });
    const slowIn = (records: Iterable<TraceRecord>): readonly Verdict[] => {
      const watch = watchHealth(headerOf(sampled));
      return [...records].flatMap((record) => watch.observe(record)).filter(({ kind }) => kind === 'slowRank');
    };

    it('a slow rank is named within five minutes, and replaced later', () => {
      const slow = slowIn(traceOtherJob(sampled, 2));
      expect(slow.map(({ action, ranks }) => [action, ranks])).toEqual([
        ['advise', [5]],
        ['evict', [5]],
      ]);
      expect(slow[0]?.atMs).toBeLessThan(60 * 1_650 + 300_000);
    });

    it('a rank whose GPU is idle for that long is named, and never replaced for it', () => {
      const idle = [...traceOtherJob(sampled, 2)].map((record): TraceRecord => {
        if (record.kind !== 'step') return record;
        return {
          ...record,
          ranks: record.ranks.map((one) => {
            const { compute, host } = one.timingsMs;
            if (one.rank !== 5 || compute === undefined || host === undefined || record.step < 60) return one;
            const idleMs = compute / 3;
            return { ...one, timingsMs: { ...one.timingsMs, compute: compute - idleMs, host: host + idleMs } };
          }),
        };
      });
      const slow = slowIn(idle);
      expect(slow.map(({ action, ranks }) => [action, ranks])).toEqual([
        ['advise', [5]],
        ['advise', [5]],
      ]);
      expect(slow[0]?.message).toMatch(
        /^Rank 5 .* Its GPU was idle for most of that time and waited for no other rank/,
      );
    });

    it('links are judged also when nothing is told in parts any more', () => {
      const watch = watchHealth(headerOf(sampled));
      const names = ['0-15', '16-31', '32-47', '48-63'];
      names.forEach((ranks, at) => watch.observe({ kind: 'group', group: String(at), name: 'data', ranks }));
      const verdicts = [...traceOtherJob({ ...sampled, slow: () => 1, steps: 1_800 }, 2)].flatMap((record) => {
        if (record.kind !== 'step') return watch.observe(record);
        const whole = record.ranks.map((one) => (record.step < 100 ? one : { ...one, timingsMs: {} }));
        const { atMs } = record;
        const marks = names.map((_, at): RecordOf<'collectives'>['ranks'][number] => {
          const ms = at === 3 && record.step >= 100 ? 20 : 10;
          const one = { operation: 'all_reduce', bytes: 4096, count: 10, medianMs: ms, maxMs: ms };
          return { rank: 16 * at, groups: [{ ...one, group: String(at) }] };
        });
        return [
          ...watch.observe({ ...record, ranks: whole }),
          ...watch.observe({ kind: 'collectives', atMs, ranks: marks }),
        ];
      });
      expect(verdicts.map(({ kind, group }) => [kind, group])).toEqual([['slowLink', '3']]);
    });
  });

  it('the same records give the same verdicts', () => {
    const job = otherJob({ slow: (rank, step) => (rank === 5 && step >= 60 ? 1.5 : 1), lost: 0.2, steps: 120 });
    expect(verdictsOn(job, 3)).toEqual(verdictsOn(job, 3));
  });
});
