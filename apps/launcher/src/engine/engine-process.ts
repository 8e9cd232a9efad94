/** How is a process of the engine started, for one rank or, where torchrun or ft_launcher starts the ranks, for all of a pod? */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { formatRanks } from '@coxswain/api-types';
import { LogRelay, LogTail, type LogSink } from '../logs/log-relay.ts';
import { processesBelow, signalGroup } from '../processes/processes.ts';
import { StarterFailure, type ToldFailure } from './starter-failure.ts';
import type { RankExit } from '../ending/verdict.ts';

export interface EngineProcessOptions {
  /** That it is, or starts. */
  readonly ranks: readonly number[];
  /** Who starts the ranks; undefined where the process is the rank. */
  readonly starter: string | undefined;
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: LogSink;
  readonly stderr: LogSink;
  readonly onLine: ((rank: number, line: Buffer) => void) | undefined;
  /** It has ended, and what it wrote of it was read. */
  readonly onExit: (process: EngineProcess, exit: RankExit) => void;
  readonly onError: (process: EngineProcess, why: string) => void;
}

/** How long what a starter wrote at its end may take to arrive. */
const TABLE_MS = 500;

/** A process in a session of its own, so that it and what it started can be signalled together. */
export class EngineProcess {
  readonly ranks: readonly number[];
  readonly starter: string | undefined;
  /** The process is gone and all its output was read. */
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  readonly #tail = new LogTail();
  readonly #failure = new StarterFailure();
  #exit: RankExit | undefined;

  constructor(options: EngineProcessOptions) {
    const { ranks, starter, command, env, onExit, onError } = options;
    this.ranks = ranks;
    this.starter = starter;
    const [program, ...args] = command;
    this.#child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env });
    this.closed = new Promise((resolve) => {
      this.#child.once('close', () => resolve());
      this.#child.once('error', (error) => {
        onError(this, `${program}: ${error.message}`);
        resolve();
      });
    });
    this.#relay(this.#child.stdout, options.stdout, options);
    this.#relay(this.#child.stderr, options.stderr, options);
    this.#child.once('exit', (code, signal) => {
      this.#exit = toExit(code, signal);
      const exit = this.#exit;
      if (starter === undefined) onExit(this, exit);
      else void this.#tableRead().then(() => onExit(this, exit));
    });
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

  /** As `rank 3`, or `ranks 0-7`. */
  get name(): string {
    return nameOf(this.ranks);
  }

  /** The last lines that its ranks wrote, oldest first. */
  get lastLines(): readonly string[] {
    return this.#tail.read();
  }

  /** What its starter said of the rank that failed first; `silent` are ranks whose connections ended, in order. */
  firstFailure(silent: readonly number[]): ToldFailure | undefined {
    const told = this.#failure.first(silent);
    return told !== undefined && this.ranks.includes(told.rank) ? told : undefined;
  }

  /** Whether its starter had a process of one of its ranks end. */
  wasSent(exit: RankExit, pid: number): boolean {
    return this.starter !== undefined && this.#failure.wasSent(exit, pid);
  }

  /**
   * To save and end. A starter would pass SIGTERM on, kill its ranks after 30 s of its own, and say that it was ended by a signal: its ranks are asked
   * themselves, and it ends when they have.
   */
  askToStop(): void {
    if (this.hasEnded || this.pid === undefined) return;
    const ranks = this.starter === undefined ? [] : processesBelow(this.pid, 'RANK');
    if (ranks.length === 0) this.#child.kill('SIGTERM');
    for (const pid of ranks) kill(pid, 'SIGTERM');
  }

  signal(signal: NodeJS.Signals): void {
    if (this.pid === undefined) return;
    // They have sessions of their own, and are nobody's children once their starter is gone.
    const ranks = this.starter === undefined || this.hasEnded ? [] : processesBelow(this.pid, 'RANK');
    for (const pid of ranks) kill(pid, signal);
    signalGroup(this.pid, signal);
  }

  #relay(stream: Readable | null, sink: LogSink, { starter, ranks, onLine }: EngineProcessOptions): void {
    const watch = (line: Buffer): boolean => {
      if (starter !== undefined) this.#failure.push(line);
      onLine?.(ranks[0] ?? 0, line);
      return !this.#failure.isTelling;
    };
    const relay = new LogRelay({
      name: nameOf(ranks),
      sink,
      tail: this.#tail,
      watch: starter === undefined && onLine === undefined ? undefined : watch,
    });
    stream?.on('error', () => undefined);
    stream?.on('data', (chunk: Buffer) => relay.push(chunk));
    stream?.on('end', () => relay.end());
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
