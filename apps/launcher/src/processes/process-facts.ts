/** Facts of a process from /proc, to check what it claims to be. */
import { readFileSync } from 'node:fs';

/** What the launcher checks about a process that connects to it. */
export interface ProcessFacts {
  /** Variables that it was started with, each `NAME=value`; none where it has ended or belongs to another user. */
  environmentOf(pid: number): readonly string[];
  /** Whether it is one of `ancestors`, or was started by one that is, however far above. */
  isBelow(pid: number, ancestors: readonly number[]): boolean;
}

/** Nobody nests processes deeper, and what is read is read while the launcher does nothing else. */
const MOST_GENERATIONS = 64;

/** Reads /proc anew for each call. */
export const realProcesses: ProcessFacts = {
  environmentOf: (pid) => (read(pid, 'environ') ?? '').split('\0'),
  isBelow(pid, ancestors) {
    let current = pid;
    for (let generation = 0; generation < MOST_GENERATIONS && current > 1; generation += 1) {
      if (ancestors.includes(current)) return true;
      current = parentOf(current);
    }
    return false;
  },
};

/** Parent of a process; 0 where it has ended. */
export function parentOf(pid: number): number {
  return Number(statOf(pid)[1] ?? 0);
}

/** The process that leads the session of a process; NaN where it has ended. */
export function sessionOf(pid: number): number {
  return Number(statOf(pid)[3]);
}

/** Kernel ticks per second of the times in /proc; 100 on every architecture that Kubernetes runs on. */
const TICK_MS = 10;

/** CPU time of a process and of its ended children that it waited for; 0 where it has ended. */
export function cpuMsOf(pid: number | 'self'): number {
  // utime, stime, cutime and cstime are fields 14 to 17 of proc(5); the list begins with field 3.
  const ticks = statOf(pid)
    .slice(11, 15)
    .reduce((sum, field) => sum + Number(field), 0);
  return Number.isFinite(ticks) ? ticks * TICK_MS : 0;
}

/** CPU time of all ended children of this process that it waited for, and of theirs. */
export function cpuMsOfEndedChildren(): number {
  const ticks = statOf('self')
    .slice(13, 15)
    .reduce((sum, field) => sum + Number(field), 0);
  return Number.isFinite(ticks) ? ticks * TICK_MS : 0;
}

/** Name of the program as the kernel shows it: at most 15 characters of the file's name. */
export function programOf(pid: number): string | undefined {
  const stat = read(pid, 'stat') ?? '';
  return stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')) || undefined;
}

/** `R`, `S`, `D`, `T`, ... as proc(5) has them; undefined where it has ended. */
export function stateOf(pid: number): string | undefined {
  return statOf(pid)[0] || undefined;
}

/** When the process began, in ticks since the start of the machine; undefined where it has ended. A process ID alone may be another process later. */
export function beginningOf(pid: number): string | undefined {
  const fields = statOf(pid);
  return fields[0] === 'Z' ? undefined : fields[19];
}

/** Bytes that the process has written to files and pipes, and not to sockets; undefined where that may not be read. */
export function writtenBytesOf(pid: number): number | undefined {
  const found = /^wchar: (\d+)$/m.exec(read(pid, 'io') ?? '');
  return found === null ? undefined : Number(found[1]);
}

/** Whether the process has ended and `parent`, which started it, has not asked for its exit code yet. */
export function isZombieOf(pid: number, parent: number | undefined): boolean {
  return stateOf(pid) === 'Z' && parentOf(pid) === parent;
}

/** From the state on: the name of the program before it stands in brackets and may hold anything. */
function statOf(pid: number | 'self'): readonly string[] {
  const stat = read(pid, 'stat') ?? '';
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(pid: number | 'self', name: 'environ' | 'stat' | 'io'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return undefined;
  }
}
