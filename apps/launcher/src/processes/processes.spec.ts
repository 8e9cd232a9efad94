import { endStrays, type ProcessTable } from './processes.ts';
import { LAUNCHER_ENV } from '../program/settings.ts';

const MARK = `${LAUNCHER_ENV.bootId}=mine`;

/** One process at that look, the first being 0. undefined: it has ended. */
type Course = (round: number, killedAt: number | undefined) => string | undefined;

/** A table in which each look takes a millisecond beside its pause. */
function aTable(courses: Readonly<Record<number, Course>>): ProcessTable & { readonly killed: Map<number, number> } {
  const killed = new Map<number, number>();
  let round = -1;
  let nowMs = 0;
  const at = (pid: number): string | undefined => courses[pid]?.(round, killed.get(pid));
  return {
    killed,
    ids() {
      round += 1;
      return Object.keys(courses).map(Number);
    },
    environmentOf: (pid) => at(pid) ?? '',
    hasEnded: (pid) => at(pid) === undefined,
    kill: (pid) => void (killed.has(pid) || killed.set(pid, round)),
    monotonicMs: () => (nowMs += 1),
    pause: async (ms) => void (nowMs += ms),
  };
}

const endsAfter =
  (rounds: number, dying = MARK): Course =>
  (round, killedAt) => {
    if (killedAt === undefined) return MARK;
    return round - killedAt < rounds ? dying : undefined;
  };

describe('what ranks leave behind', () => {
  it.each<[string, Course]>([
    ['ends at once', endsAfter(0)],
    ['takes its time to end', endsAfter(30)],
    ['has given back its memory, and holds its files for a while', endsAfter(5, '')],
    [
      'is being replaced by another program when it is looked for',
      (round, killedAt) => (round === 0 ? '' : endsAfter(0)(round, killedAt)),
    ],
  ])('is killed and waited for where it %s', async (_what, course) => {
    const table = aTable({ 7: course });
    expect(await endStrays(['mine'], table)).toBe(true);
    expect(table.killed.has(7)).toBe(true);
    expect(table.hasEnded(7)).toBe(true);
  });

  it('is said to be there where it does not end', async () => {
    expect(await endStrays(['mine'], aTable({ 7: () => MARK, 8: endsAfter(1) }))).toBe(false);
  });

  it('is told from what others started', async () => {
    const table = aTable({ 7: endsAfter(0), 8: () => `${LAUNCHER_ENV.bootId}=another`, 9: () => '' });
    expect(await endStrays(['mine'], table)).toBe(true);
    expect([...table.killed.keys()]).toEqual([7]);
  });
});
