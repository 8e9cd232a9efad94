import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@coxswain/local-cluster';
import { stateOf } from './process-facts.ts';
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

/** Starts a process with each mark, guards them, and waits to be killed. */
const GUARDING = `
import { spawn } from 'node:child_process';
import { Guard } from '${fileURLToPath(new URL('processes.ts', import.meta.url))}';
const pids = ['one', 'two', 'three'].map((mark) => {
  const env = { ...process.env, ${LAUNCHER_ENV.bootId}: mark };
  return spawn('sleep', ['1000'], { detached: true, stdio: 'ignore', env }).pid;
});
new Guard({ marks: ['one', 'two'], directory: '/nowhere' });
console.log(pids.join(' '));
setInterval(() => undefined, 1_000);
`;

describe('a launcher that is killed', () => {
  it('leaves nothing with one of its marks, and what is of others alone', async () => {
    const launcher = spawn(process.execPath, ['--input-type=module', '-e', GUARDING], {
      env: { PATH: process.env['PATH'] },
    });
    const [line] = (await once(launcher.stdout, 'data')) as [Buffer];
    const [one = 0, two = 0, other = 0] = String(line).split(' ').map(Number);
    try {
      launcher.kill('SIGKILL');
      const isGone = (pid: number): boolean => [undefined, 'Z'].includes(stateOf(pid));
      await waitFor(() => isGone(one) && isGone(two), { what: 'their end', intervalMs: 5 });
      expect(isGone(other)).toBe(false);
    } finally {
      execFileSync('kill', ['-9', String(other)]);
    }
  });
});
