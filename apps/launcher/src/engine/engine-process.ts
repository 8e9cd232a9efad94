/** A process of the engine: one rank, or torchrun or ft_launcher, which starts all ranks of a pod. */
import { spawn, type ChildProcess } from 'node:child_process';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { formatRanks, leftBehindMark, type StopFacts } from '@coxswain/api-types';
import { LogRelay, LogTail, type LogSink } from '../logs/log-relay.ts';
import { type SecretIndex, SecretMask } from '../logs/secret-mask.ts';
import { isZombieOf, programOf } from '../processes/process-facts.ts';
import { processesBelow, processesOfSession, ranksBelow, signalGroup } from '../processes/processes.ts';
import { SHELLS, stopTargets } from '../processes/stop-targets.ts';
import { EndsBelow } from './ends-below.ts';
import { StarterFailure, type ReportedFailure } from './starter-failure.ts';
import { StarterRanks } from './starter-ranks.ts';
import type { RankExit } from '../ending/verdict.ts';

/** What becomes of output beside the container's log. */
export interface OutputOptions {
  /** Values that are replaced in all output. */
  readonly secrets: SecretIndex;
  /** Receives all output, after that. */
  readonly onOutput: (ranks: readonly number[], stream: 'stdout' | 'stderr', chunk: Buffer) => void;
}

/** How to start a process of the engine, and whom it notifies of its output and end. */
export interface EngineProcessOptions {
  /** The ranks that the process is, or starts. */
  readonly ranks: readonly number[];
  /** Program that starts the ranks; undefined if the process is the rank itself. */
  readonly starter: string | undefined;
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A process that runs already and is to be the rank, in a session of its own. Its output was not read since. undefined: one is started. */
  readonly adopted?: ChildProcess | undefined;
  readonly stdout: LogSink;
  readonly stderr: LogSink;
  readonly output?: OutputOptions | undefined;
  readonly onLine: ((rank: number, line: Buffer) => void) | undefined;
  /** The process has ended, and its report on the end was read. */
  readonly onExit: (process: EngineProcess, exit: RankExit) => void;
  readonly onError: (process: EngineProcess, why: string) => void;
  /** A rank of a starter exited with 0, and the starter runs on. */
  readonly onRankFinished?: () => void;
}

/** How long the last output of a starter may take to arrive. */
const TABLE_MS = 500;
/** How often the processes of a starter's ranks are observed. */
const OBSERVE_RANKS_MS = 1_000;

/** A process in a session of its own, so that it and what it started can be signalled together. */
export class EngineProcess {
  readonly ranks: readonly number[];
  readonly starter: string | undefined;
  /** The process is gone and all its output was read. */
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  readonly #tail: LogTail;
  readonly #program: string;
  readonly #failure = new StarterFailure();
  readonly #starterRanks: StarterRanks;
  #isAskedToStop = false;
  #exit: RankExit | undefined;
  /** Set if SIGTERM went to processes below this one. */
  #below: EndsBelow | undefined;
  #wroteAtMs = performance.now();
  readonly #onRankFinished: (() => void) | undefined;

  constructor(options: EngineProcessOptions) {
    const { ranks, starter, command, env, onExit, onError } = options;
    this.ranks = ranks;
    this.starter = starter;
    this.#tail = new LogTail(ranks.length);
    this.#starterRanks = new StarterRanks(ranks);
    const [program, ...args] = command;
    this.#program = basename(program);
    this.#child = options.adopted ?? spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env });
    this.closed = new Promise((resolve) => {
      this.#child.once('close', () => resolve());
      this.#child.once('error', (error) => {
        onError(this, `${program}: ${error.message}`);
        resolve();
      });
    });
    const observing =
      starter === undefined ? undefined : setInterval(() => this.#observeRanks(), OBSERVE_RANKS_MS).unref();
    this.#onRankFinished = options.onRankFinished;
    this.#relay('stdout', options);
    this.#relay('stderr', options);
    const end = (code: number | null, signal: NodeJS.Signals | null): void => {
      clearInterval(observing);
      this.#exit = toExit(code, signal);
      const exit = this.#exit;
      if (starter === undefined) onExit(this, this.#below?.exitAfter(exit) ?? exit);
      else void this.#tableRead().then(() => onExit(this, exit));
    };
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) this.#child.once('exit', end);
    // An adopted process may have ended before this listener. Its end is handled later, as that of others.
    else setImmediate(end, exitCode, signalCode);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Undefined while it runs. */
  get exit(): RankExit | undefined {
    return this.#exit;
  }

  get hasEnded(): boolean {
    return this.pid === undefined || this.#exit !== undefined;
  }

  /** Ranks that exited with 0. A starter may run on after that, and end by the failure of another rank. */
  get finishedRanks(): readonly number[] {
    if (this.#exit?.kind === 'code' && this.#exit.code === 0) return this.ranks;
    const quiet = this.#failure.endedBefore(this.#starterRanks.pids);
    const { finished } = this.#starterRanks;
    return this.ranks.filter((rank) => finished.includes(rank) || quiet.includes(rank));
  }

  /** The process of each rank that a starter started, as far as it was seen. */
  get rankPids(): ReadonlyMap<number, number> {
    return this.#starterRanks.pids;
  }

  /** The kernel shows that this rank of a starter exited with 0. */
  noteFinished(rank: number): void {
    if (this.#starterRanks.finish(rank)) this.#onRankFinished?.();
  }

  /** As `rank 3`, or `ranks 0-7`. */
  get name(): string {
    return nameOf(this.ranks);
  }

  /** When it wrote last, by the clock of performance.now(); its start if it wrote nothing. */
  get wroteAtMs(): number {
    return this.#wroteAtMs;
  }

  /** The last lines that its ranks wrote, oldest first. */
  get lastLines(): readonly string[] {
    return this.#tail.read();
  }

  /** A rank of it ended a step. */
  noteStep(rank: number, step: number): void {
    this.#tail.noteStep(rank, step);
  }

  /** Adds a line if its shell ended before programs that it started. They end with it, and its exit code reports nothing about them. */
  noteLeftBehind(): void {
    if (this.pid === undefined || !SHELLS.has(this.#program)) return;
    const left = processesOfSession(this.pid).map((pid) => programOf(pid) ?? 'a process');
    if (left.length === 0) return;
    const programs = [...new Set(left)].join(', ');
    this.#tail.push([{ bytes: Buffer.from(leftBehindMark(this.name, programs)), cutBytes: 0 }]);
  }

  /** The first failed rank that its starter reported; `silent` are ranks whose connections ended, in order. */
  firstFailure(silent: readonly number[]): ReportedFailure | undefined {
    const first = this.#failure.first(silent);
    return first !== undefined && this.ranks.includes(first.rank) ? first : undefined;
  }

  /** Whether its starter itself ended the process of a rank. */
  wasSent(exit: RankExit, pid: number): boolean {
    return this.starter !== undefined && this.#failure.wasSent(exit, pid);
  }

  /**
   * Asks to save and stop: SIGTERM to the processes that train, once to each. A starter would forward it, kill its ranks after 30 s, and
   * report that a signal ended it. So its ranks get the signal directly, and the starter ends when they have ended. `reporting`: processes
   * that report as ranks.
   */
  askToStop(reporting: readonly number[], patienceMs: number): Pick<StopFacts, 'signalled' | 'unhandled'> {
    this.#isAskedToStop = true;
    if (this.hasEnded || this.pid === undefined) return { signalled: 0, unhandled: 0 };
    const ranks = this.starter === undefined ? [] : processesBelow(this.pid, 'RANK');
    const targets = (ranks.length > 0 ? ranks : [this.pid]).map((root) => stopTargets(root, reporting));
    const pids = targets.flatMap((one) => one.pids);
    if (this.starter === undefined && targets.some(({ areBelow }) => areBelow))
      this.#below = new EndsBelow(pids, patienceMs);
    for (const pid of pids) kill(pid, 'SIGTERM');
    return { signalled: pids.length, unhandled: targets.reduce((sum, { unhandled }) => sum + unhandled, 0) };
  }

  signal(signal: NodeJS.Signals): void {
    if (this.pid === undefined) return;
    // Ranks have their own sessions, and are orphans once their starter is gone.
    const ranks = this.starter === undefined || this.hasEnded ? [] : processesBelow(this.pid, 'RANK');
    for (const pid of ranks) kill(pid, signal);
    signalGroup(this.pid, signal);
  }

  #relay(name: 'stdout' | 'stderr', { starter, ranks, onLine, output, [name]: sink }: EngineProcessOptions): void {
    const stream: Readable | null = this.#child[name];
    const watch = (line: Buffer): boolean => {
      if (starter !== undefined) this.#failure.push(line);
      onLine?.(ranks[0] ?? 0, line);
      return !this.#failure.isReporting;
    };
    const relay = new LogRelay({
      name: nameOf(ranks),
      sink,
      tail: this.#tail,
      watch: starter === undefined && onLine === undefined ? undefined : watch,
    });
    const mask = output && new SecretMask(output.secrets);
    const pass = (chunk: Buffer): void => {
      relay.push(chunk);
      output?.onOutput(ranks, name, chunk);
    };
    stream?.on('error', () => undefined);
    stream?.on('data', (chunk: Buffer) => {
      this.#wroteAtMs = performance.now();
      pass(mask?.push(chunk) ?? chunk);
    });
    // An adopted one waits for its reader.
    stream?.resume();
    stream?.on('end', () => {
      if (mask !== undefined) pass(mask.end());
      relay.end();
    });
  }

  /** A rank that ends because others failed, or because it was asked to, has not finished. */
  #observeRanks(): void {
    if (this.pid === undefined || this.#isAskedToStop || this.#failure.isReporting) return;
    const unreaped = [...this.#starterRanks.pids].filter(([, pid]) => isZombieOf(pid, this.pid));
    const running = new Map([...unreaped, ...ranksBelow(this.pid)]);
    if (this.#starterRanks.observe(running, performance.now())) this.#onRankFinished?.();
  }

  async #tableRead(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, TABLE_MS);
    await Promise.race([this.closed, promise]);
    clearTimeout(timer);
  }
}

function nameOf(ranks: readonly number[]): string {
  return `${ranks.length === 1 ? 'rank' : 'ranks'} ${formatRanks(ranks)}`;
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself.
  }
}

function toExit(code: number | null, signal: NodeJS.Signals | null): RankExit {
  return signal === null ? { kind: 'code', code: code ?? 1 } : { kind: 'signal', signal };
}
