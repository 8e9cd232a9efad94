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

/** `R`, `S`, `D`, `T`, ... as proc(5) has them; undefined where it has ended. */
export function stateOf(pid: number): string | undefined {
  return statOf(pid)[0] || undefined;
}

/** From the state on: the name of the program before it stands in brackets and may hold anything. */
function statOf(pid: number): readonly string[] {
  const stat = read(pid, 'stat') ?? '';
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(pid: number, name: 'environ' | 'stat'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return undefined;
  }
}
