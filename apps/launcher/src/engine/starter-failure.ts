/** Finds the rank that failed first in the last output of torchrun or ft_launcher. Their own exit code is always 1. */
import { constants } from 'node:os';
import { exitBySignal, type RankExit } from '../ending/verdict.ts';

/** One row of the table. */
export interface ReportedFailure {
  readonly rank: number;
  readonly exit: RankExit;
  readonly pid: number;
  /** As it stands there, in whole seconds. */
  readonly time: string;
}

const MOST_ROWS = 256;
const LONGEST_LINE_BYTES = 1024;
/** Lines that are read as the starter's own after one that begins its end: tracebacks, and 7 lines for each of its ranks. */
const LINES_OF_AN_END = 4096;
/** In api.py beside it: before the other ranks are ended, and after that. */
const BEGINS_END =
  /Sending process (?<pid>\d+) closing signal SIG|failed \(exitcode: -?\d+\) local_rank: \d+ \(pid: \d+\) of /;
const SIGTERM = constants.signals.SIGTERM;

/**
 * Reads the table of failures: `_MSG_FORMAT_TEMPLATE` and `_FAILURE_FORMAT_TEMPLATE` in torch/distributed/elastic/multiprocessing/errors/__init__.py, of 1.9 to
 * 2.15 alike, which ft_launcher prints as well. Rows say time, host, rank and exit code, negative for signals; that under "Root Cause" comes last.
 */
export class StarterFailure {
  #rows: ReportedFailure[] = [];
  #root: ReportedFailure | undefined;
  #row: { time: string; rank?: number } | undefined;
  #isRoot = false;
  /** Processes that were alive when the starter began to end them: whatever became of them came after the failure. */
  readonly #outlived = new Set<number>();
  #linesLeft = 0;

  /** Whether the present output is of the starter, no longer of a rank. */
  get isReporting(): boolean {
    return this.#linesLeft > 0;
  }

  push(line: Buffer): void {
    if (line.length > LONGEST_LINE_BYTES) return;
    if (this.isReporting || line.includes('exitcode: ') || line.includes('closing signal SIG'))
      this.#read(line.toString('latin1').replaceAll(/\u001b\[[0-9;]*m/g, ''));
  }

  /**
   * The failure that the others follow from. Times are seconds, so several may have the first: then that of the rank that fell silent first, of those the one
   * that a signal ended, since ranks that lose a peer raise an error. Who was alive when the starter sent SIGTERM ended because of another, however it did.
   */
  first(silent: readonly number[] = []): ReportedFailure | undefined {
    const root = this.#root;
    if (root === undefined) return undefined;
    const atOnce = [root, ...this.#rows].filter(
      ({ time, exit, pid }) => time === root.time && !this.wasSent(exit, pid),
    );
    const order = (rank: number): number => (silent.includes(rank) ? silent.indexOf(rank) : silent.length);
    return atOnce.sort((one, other) => order(one.rank) - order(other.rank) || weight(one) - weight(other))[0] ?? root;
  }

  /**
   * Whether the starter ended this rank: by SIGTERM, or as its output reports. Then another rank failed first, perhaps one whose end the launcher has
   * not seen yet.
   */
  wasSent(exit: RankExit, pid: number): boolean {
    return this.#outlived.has(pid) || (exit.kind === 'signal' && constants.signals[exit.signal] === SIGTERM);
  }

  /** Ranks of these processes that had exited with 0 when the starter began to end the others: it names neither their failure nor their process. */
  endedBefore(pids: ReadonlyMap<number, number>): readonly number[] {
    if (this.#root === undefined || this.#rows.length >= MOST_ROWS) return [];
    const failed = new Set([this.#root, ...this.#rows].map(({ rank }) => rank));
    return [...pids].flatMap(([rank, pid]) => (failed.has(rank) || this.#outlived.has(pid) ? [] : [rank]));
  }

  #read(text: string): void {
    const begins = BEGINS_END.exec(text);
    if (begins !== null) this.#begin(begins.groups?.['pid']);
    if (!this.isReporting) return;
    this.#linesLeft -= 1;
    if (text.startsWith('Root Cause (first observed failure):')) this.#isRoot = true;
    else if (/^\[\d+\]:$/.test(text)) this.#row = { time: '' };
    else if (this.#row !== undefined) this.#field(this.#row, text);
  }

  #begin(outlived: string | undefined): void {
    this.#linesLeft = LINES_OF_AN_END;
    if (outlived !== undefined && this.#outlived.size < MOST_ROWS) this.#outlived.add(Number(outlived));
  }

  #field(row: { time: string; rank?: number }, text: string): void {
    const [, name, value = ''] = /^ {2}(time|rank|exitcode) +: (.{0,64})/.exec(text) ?? [];
    if (name === 'time') row.time = value;
    if (name === 'rank') row.rank = Number.parseInt(value, 10);
    const [, code, pid] = /^(-?\d{1,3}) \(pid: (\d+)\)/.exec(name === 'exitcode' ? value : '') ?? [];
    if (row.rank === undefined || code === undefined) return;
    const failure = { rank: row.rank, exit: toExit(Number(code)), pid: Number(pid), time: row.time };
    if (this.#isRoot) this.#root = failure;
    else if (this.#rows.length < MOST_ROWS) this.#rows.push(failure);
    this.#row = undefined;
  }
}

function toExit(code: number): RankExit {
  return code < 0 ? exitBySignal(-code) : { kind: 'code', code: Math.min(255, code) };
}

function weight({ exit }: ReportedFailure): number {
  return exit.kind === 'signal' ? 0 : 1;
}
