/** The ranks below a program that this launcher did not start, as their hooks and the kernel show them. */
import { MAX_RANKS_PER_POD, type ObserverReport, type RankProcess } from '@coxswain/api-types';
import type { Hello } from '../facts/fact-server.ts';
import { realProcesses, stateOf, writtenBytesOf } from '../processes/process-facts.ts';
import { rankProcesses } from '../processes/rank-processes.ts';

interface Known {
  readonly pid: number;
  readonly worldSize: number | null;
  /** Bytes that the process had written, and since when. */
  readonly written: { readonly bytes: number | undefined; readonly sinceMs: number };
}

const MOST_RANKS_OF_GANG = 32_768;

/** What is read of processes. */
export interface ObservedProcesses {
  readonly environmentOf: (pid: number) => readonly string[];
  readonly stateOf: (pid: number) => string | undefined;
  /** Bytes that the process has written to files and pipes; undefined: not readable. */
  readonly writtenBytesOf: (pid: number) => number | undefined;
}

const realOnes: ObservedProcesses = { environmentOf: realProcesses.environmentOf, stateOf, writtenBytesOf };

/** Ranks that have reported. */
export class ObservedRanks {
  readonly #processes: ObservedProcesses;
  readonly #known = new Map<number, Known>();

  constructor(processes: ObservedProcesses = realOnes) {
    this.#processes = processes;
  }

  /** Adds the rank. Returns whether another process of that rank was known, so that the ranks have started again. */
  add({ rank, pid }: Pick<Hello, 'rank' | 'pid'>, nowMs: number): boolean {
    const before = this.#known.get(rank);
    if (before?.pid === pid || (before === undefined && this.#known.size >= MAX_RANKS_PER_POD)) return false;
    const written = { bytes: this.#processes.writtenBytesOf(pid), sinceMs: nowMs };
    this.#known.set(rank, { pid, worldSize: worldSizeIn(this.#processes.environmentOf(pid)), written });
    return before !== undefined;
  }

  get alive(): readonly { readonly rank: number; readonly alive: boolean }[] {
    return [...this.#known].map(([rank, { pid }]) => ({ rank, alive: this.#isAlive(pid) }));
  }

  /** Processes and world size of each rank. */
  get ranks(): readonly Pick<ObserverReport['ranks'][number], 'rank' | 'process' | 'worldSize' | 'alive'>[] {
    return [...this.#known].map(([rank, { pid, worldSize }]) => ({
      rank,
      process: pid,
      worldSize,
      alive: this.#isAlive(pid),
    }));
  }

  /** What the processes of each living rank do. The output of the program is not read: a process that writes counts as one that prints. */
  processes(nowMs: number): readonly RankProcess[] {
    const started = [...this.#known].flatMap(([rank, known]) => {
      const { pid } = known;
      if (!this.#isAlive(pid)) return [];
      const wroteAtMs = this.#wroteAtMs(rank, known, nowMs);
      const rankPids = new Map<number, number>();
      return [{ ranks: [rank], pid, hasEnded: false, exit: undefined, finishedRanks: [], rankPids, wroteAtMs }];
    });
    return rankProcesses(started, nowMs);
  }

  #wroteAtMs(rank: number, known: Known, nowMs: number): number {
    const bytes = this.#processes.writtenBytesOf(known.pid);
    // What cannot be read may be writing: a rank is never called idle for it.
    if (bytes !== undefined && bytes === known.written.bytes) return known.written.sinceMs;
    this.#known.set(rank, { ...known, written: { bytes, sinceMs: nowMs } });
    return nowMs;
  }

  #isAlive(pid: number): boolean {
    const state = this.#processes.stateOf(pid);
    return state !== undefined && state !== 'Z' && state !== 'X';
  }
}

function worldSizeIn(environment: readonly string[]): number | null {
  const text = environment.find((one) => one.startsWith('WORLD_SIZE='))?.slice('WORLD_SIZE='.length) ?? '';
  const size = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return size >= 1 && size <= MOST_RANKS_OF_GANG ? size : null;
}
