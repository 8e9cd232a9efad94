/** Watches for checkpoints that an engine saves in its own format. A separate process does it, which can be left behind if a file server hangs. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { SavedFact } from '../facts/engine-facts.ts';
import { thisProgram } from '../program/this-program.ts';
import type { WatchedSaves } from './save-scanner.ts';
import { WATCH_SAVES, type LastScan, type WatchLine } from './watch-saves.ts';

/** Consecutive processes that ended, or were left behind, without output. */
const MOST_FAILURES = 5;
const PAUSE_MS = 1_000;

type Watching = ChildProcessByStdio<Writable, Readable, null>;

/** What a watcher watches, and whom it notifies of completed saves. */
export interface SaveWatcherOptions {
  readonly watched: Omit<WatchedSaves, 'reported'>;
  readonly onSaved: (fact: SavedFact) => void;
  readonly logLine: (sentence: string) => void;
  /** How long the file system may give no answer at all. */
  readonly patienceMs: number;
  /** Program that watches, and its arguments before the question; default: this program. */
  readonly watcher?: readonly [string, ...string[]];
  /** Pause before another process replaces one that failed; default: 1 s. */
  readonly pauseMs?: number;
}

/** Watches for completed saves of an engine in a separate process, because a call to a shared file system can hang. */
export class SaveWatcher {
  readonly #options: SaveWatcherOptions;
  readonly #reported = new Set<string>();
  #child: Watching | undefined;
  #lastScan: LastScan | undefined;
  #isOver = false;
  #failures = 0;
  readonly #ended: Promise<void>;

  constructor(options: SaveWatcherOptions) {
    this.#options = options;
    this.#ended = this.#keepWatching();
  }

  /** The ranks are gone: scans once more and hashes for `hashMs` at most. Settles when that is done, or after `limitMs`. */
  async finish({ hashMs, limitMs }: { readonly hashMs: number; readonly limitMs: number }): Promise<void> {
    this.#lastScan = { hashMs };
    this.#ask();
    const late = new AbortController();
    await Promise.race([this.#ended, delay(limitMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    this.#isOver = true;
    this.#child?.kill('SIGKILL');
  }

  async #keepWatching(): Promise<void> {
    while (!this.#isOver) {
      if ((await this.#watchOnce()) || this.#isOver) return;
      this.#failures += 1;
      if (this.#failures === MOST_FAILURES) {
        this.#options.logLine(
          'Checkpoints of the engine are no longer watched: the watching process failed five times in a row.',
        );
        return;
      }
      await delay(this.#options.pauseMs ?? PAUSE_MS);
    }
  }

  /** Whether it watched to the end. */
  async #watchOnce(): Promise<boolean> {
    const { watcher = thisProgram(WATCH_SAVES), watched, patienceMs } = this.#options;
    const [program, ...args] = watcher;
    const question = JSON.stringify({ ...watched, reported: [...this.#reported] } satisfies WatchedSaves);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let child: Watching;
    try {
      child = spawn(program, [...args, question], { stdio: ['pipe', 'pipe', 'ignore'] });
    } catch {
      return false;
    }
    this.#child = child;
    // Left behind where it hangs in the kernel: no signal ends it then.
    const silence = setTimeout(() => resolve(false), patienceMs);
    child.stdin.on('error', () => undefined);
    child.once('error', () => resolve(false)).once('close', () => resolve(false));
    createInterface({ input: child.stdout }).on('line', (line) => {
      silence.refresh();
      if (line !== '' && this.#receive(JSON.parse(line) as WatchLine)) resolve(true);
    });
    if (this.#lastScan !== undefined) this.#ask();
    const isDone = await promise;
    clearTimeout(silence);
    child.kill('SIGKILL');
    child.stdin.destroy();
    child.stdout.destroy();
    child.unref();
    return isDone;
  }

  #ask(): void {
    if (this.#lastScan !== undefined) this.#child?.stdin.write(`${JSON.stringify(this.#lastScan)}\n`);
  }

  /** Whether that was the last. */
  #receive(line: WatchLine): boolean {
    if (line.kind === 'done') return true;
    this.#failures = 0;
    if (line.kind === 'notice') this.#options.logLine(line.sentence);
    else if (!this.#reported.has(line.directory)) {
      this.#reported.add(line.directory);
      this.#options.onSaved(line);
    }
    return false;
  }
}
