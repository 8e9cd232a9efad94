/** Keeps the output of ranks beside their job's checkpoints. A process of its own writes it, because storage can hang. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { thisProgram } from '../program/this-program.ts';
import { KEEP_LOGS, type LogsToKeep } from './keep-logs.ts';
import { FrameQueue } from './frame-queue.ts';
import { type FrameKind, frameHead } from './log-frames.ts';

/** Memory for output that waits for the keeping process. Of more, the newest is kept. */
const MAX_WAITING_BYTES = 32 * 1_048_576;
/** The same once the ranks have ended. */
const MAX_LAST_BYTES = 8 * 1_048_576;

/** What is kept, and who is notified of what is not. */
export interface LogKeeperOptions {
  readonly logs: LogsToKeep;
  readonly logLine: (sentence: string) => void;
  /** Program that keeps logs, and its arguments before the question; default: this program. */
  readonly keeper?: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
}

type Keeping = ChildProcessByStdio<Writable, Readable, null>;

/** Passes the output of one incarnation's ranks on, and never waits. Whatever happens to the keeping process, the ranks go on. */
export class LogKeeper {
  readonly #logs: LogsToKeep;
  readonly #logLine: (sentence: string) => void;
  readonly #waiting: FrameQueue;
  #child: Keeping | undefined;
  readonly #closed: Promise<void>;
  #isOver = false;

  constructor({ logs, logLine, keeper = thisProgram(KEEP_LOGS), env }: LogKeeperOptions) {
    this.#logs = logs;
    this.#logLine = logLine;
    this.#waiting = new FrameQueue(logs.writers.length, MAX_WAITING_BYTES);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed = promise;
    try {
      const [program, ...args] = keeper;
      // A group of its own: a signal to the launcher's group does not end it before the last output.
      const child = spawn(program, [...args, JSON.stringify(logs)], {
        stdio: ['pipe', 'pipe', 'ignore'],
        env,
        detached: true,
      });
      this.#child = child;
      child.stdin.on('error', () => undefined).on('drain', () => this.#pump());
      createInterface({ input: child.stdout }).on('line', (line) => logLine(line));
      child.once('error', ({ message }) => this.#fail(message, resolve));
      child.once('close', (code, signal) => this.#fail(signal ?? `code ${code}`, resolve));
    } catch (error) {
      this.#fail((error as Error).message, resolve);
    }
  }

  /** Output of these ranks. */
  write(ranks: readonly number[], kind: 'stdout' | 'stderr', chunk: Buffer): void {
    const writer = this.#logs.writers.findIndex(({ firstRank }) => firstRank === ranks[0]);
    if (writer >= 0) this.#send(writer, kind, chunk);
  }

  /** A sentence of the launcher: in the log of each of its ranks. */
  writeSentence(sentence: string): void {
    this.#logs.writers.forEach((_, writer) => this.#send(writer, 'launcher', Buffer.from(sentence)));
  }

  /** Settles when all is in storage, or after `limitMs`; then the keeping process is left behind. */
  async end(limitMs: number): Promise<void> {
    this.#isOver = true;
    const child = this.#child;
    if (child === undefined) return;
    // Storage that is slow would take longer for all of it than the launcher waits. How a program ended is at the end.
    this.#waiting.boundTo(MAX_LAST_BYTES);
    this.#pump();
    const late = new AbortController();
    await Promise.race([this.#closed, delay(limitMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    child.kill('SIGKILL');
    child.stdin.destroy();
    child.stdout.destroy();
    child.unref();
  }

  #send(writer: number, kind: FrameKind, bytes: Buffer): void {
    if (this.#child === undefined || this.#isOver) return;
    this.#waiting.push({ writer, kind, bytes });
    this.#pump();
  }

  /** Sends as much as the process reads. */
  #pump(): void {
    const stdin = this.#child?.stdin;
    if (stdin?.writable !== true) return;
    while (!stdin.writableNeedDrain && !this.#waiting.isEmpty) {
      for (const frame of this.#waiting.shift()) {
        stdin.write(frameHead(frame));
        stdin.write(frame.bytes);
      }
    }
    if (this.#isOver && this.#waiting.isEmpty) stdin.end();
  }

  #fail(why: string, resolve: () => void): void {
    this.#child = undefined;
    resolve();
    if (!this.#isOver) this.#logLine(`Logs are no longer kept: the process that keeps them ended (${why}).`);
    this.#isOver = true;
  }
}
