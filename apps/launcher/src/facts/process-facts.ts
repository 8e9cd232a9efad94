/** What does the kernel tell of a process that says who it is? */
import { readFileSync } from 'node:fs';

export interface ProcessFacts {
  /** Variables that it was started with, each `NAME=value`; none where it has ended or belongs to another user. */
  environmentOf(pid: number): readonly string[];
  /** Whether it is one of `ancestors`, or was started by one that is, however far above. */
  isBelow(pid: number, ancestors: readonly number[]): boolean;
}

/** Nobody nests processes deeper, and what is read is read while the launcher does nothing else. */
const MOST_GENERATIONS = 64;

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

/** Parent of a process; 0 where it has ended. The name of the program stands in brackets and may hold anything. */
export function parentOf(pid: number): number {
  const stat = read(pid, 'stat') ?? '';
  const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(parent ?? 0);
}

function read(pid: number, name: 'environ' | 'stat'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return undefined;
  }
}
