import { Worker } from 'node:worker_threads';
import type { Clock } from '@coxswain/kube';
import type {
  FromIngest,
  IngestAnswer,
  IngestDigest,
  IngestQuestion,
  IngestStart,
  LeadershipView,
  NewestEpoch,
  ToIngest,
} from './ingest-messages.ts';

/** What the thread is given, and who takes what it tells. */
export interface IngestThreadParts {
  /** Asked for every start. */
  readonly start: () => IngestStart;
  /** Must not reject. */
  readonly answer: (question: IngestQuestion) => Promise<IngestAnswer>;
  readonly take: (digest: IngestDigest) => void;
  /** What the thread should know by now; of the jobs those that changed since the call before. */
  readonly view: () => { readonly leadership: LeadershipView; readonly jobs: readonly NewestEpoch[] };
  /** The thread is gone, with everything that it knew of its connections. It is started again after `againInMs`. */
  readonly onDeath: (reason: Error, againInMs: number) => void;
  readonly clock: Clock;
  /** Stands in for the real thread in tests. */
  readonly worker?: URL;
}

const WORKER = new URL('./ingest-worker.ts', import.meta.url);
const VIEW_MS = 200;
const CHECK_MS = 10_000;
/** A thread that has told nothing at so many checks in a row hangs; it would tell something every second. */
const SILENT_CHECKS = 3;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** One that lives less long has not come back: it would die every second, and its launchers with it. */
const HEALTHY_AFTER_MS = 60_000;
const STOP_WITHIN_MS = 5_000;
/**
 * Heap of the thread: the series take up to 64 MiB, a connection about 20 kB. Beyond it the thread dies and is started anew, which costs its
 * connections a second; without a bound it would take the loop with it. It holds only where the container has more than this beside the loop
 * (345 MiB at its first look), or the kernel ends the whole process before: hence the chart's limit of 1 GiB.
 */
const HEAP_MIB = 384;

/**
 * Reports are taken in a thread of their own, so that neither steps nor whoever floods the port delays a decision. A thread that dies or hangs is
 * started again: launchers come back by themselves, and whatever matters of what they say is told again or stands in the cluster.
 */
export class IngestThread {
  readonly #parts: IngestThreadParts;
  #thread: Worker | undefined;
  #port = 0;
  #isListening = false;
  #isStopping = false;
  #pauseMs = FIRST_PAUSE_MS;
  #silentChecks = 0;
  #threadStartedAtMs = 0;
  /** Of the last digest, and at first of the start; absent while the thread is not wanted. */
  #lastDigestAtMs: number | undefined;
  #cancelTimers: (() => void)[] = [];
  #onListening: PromiseWithResolvers<void> | undefined;

  constructor(parts: IngestThreadParts) {
    this.#parts = parts;
  }

  /** 0 before it listens for the first time; then the same at each start. */
  get port(): number {
    return this.#port;
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  /** How long ago anything was last told, whatever has become of the thread since; 0 before the start and after `stop`. */
  get silentMs(): number {
    return this.#lastDigestAtMs === undefined ? 0 : this.#parts.clock.monotonicMs() - this.#lastDigestAtMs;
  }

  /** Starts the thread; rejects where it cannot listen, for instance because the port is taken. */
  async start(): Promise<void> {
    this.#onListening = Promise.withResolvers<void>();
    this.#lastDigestAtMs = this.#parts.clock.monotonicMs();
    this.#startThread();
    await this.#onListening.promise;
  }

  /** Lost where there is no thread at the moment: it learns what counts when it looks. */
  send(message: ToIngest): void {
    this.#thread?.postMessage(message);
  }

  /** Sends every launcher away, closes the port and ends the thread. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#lastDigestAtMs = undefined;
    this.#forgetTimers();
    const thread = this.#thread;
    if (thread === undefined) return;
    const left = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    thread.postMessage({ kind: 'stop' } satisfies ToIngest);
    const late = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.setTimer(STOP_WITHIN_MS, () => late.resolve());
    await Promise.race([left, late.promise]);
    cancel();
    await thread.terminate();
  }

  #startThread(): void {
    const start = this.#parts.start();
    const thread = new Worker(this.#parts.worker ?? WORKER, {
      workerData: this.#port === 0 ? start : { ...start, listenPort: this.#port },
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
      // What a test runner or a profiler wants of this process is not meant for its threads.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#thread = thread;
    this.#threadStartedAtMs = this.#parts.clock.monotonicMs();
    this.#silentChecks = 0;
    thread.on('message', (message: FromIngest) => {
      if (this.#thread === thread) this.#receive(message);
    });
    thread.on('error', (error: Error) =>
      this.#onDeath(thread, new Error(`the thread of the reports failed: ${error.message}`, { cause: error })),
    );
    thread.on('exit', () => this.#onDeath(thread, new Error('the thread of the reports ended by itself')));
    this.#every(VIEW_MS, () => this.send({ kind: 'view', ...this.#parts.view() }));
    this.#every(CHECK_MS, () => this.#check());
  }

  #receive(message: FromIngest): void {
    switch (message.kind) {
      case 'listening':
        this.#port = message.port;
        this.#isListening = true;
        this.send({ kind: 'view', ...this.#parts.view() });
        this.#onListening?.resolve();
        return;
      case 'question':
        void this.#answer(message.id, message.question);
        return;
      case 'digest':
        this.#noteLife();
        this.#parts.take(message.digest);
        this.send({ kind: 'digestTaken' });
        return;
      case 'stopped':
        return;
    }
  }

  #noteLife(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    this.#silentChecks = 0;
    if (!this.#isStopping) this.#lastDigestAtMs = nowMs;
    if (nowMs - this.#threadStartedAtMs >= HEALTHY_AFTER_MS) this.#pauseMs = FIRST_PAUSE_MS;
  }

  async #answer(id: number, question: IngestQuestion): Promise<void> {
    const thread = this.#thread;
    const answer = await this.#parts.answer(question);
    thread?.postMessage({ kind: 'answer', id, answer } satisfies ToIngest);
  }

  /** Counted in checks, not in time: where this thread stands still, what the other one told lies unread. */
  #check(): void {
    this.#silentChecks += 1;
    const thread = this.#thread;
    if (this.#silentChecks < SILENT_CHECKS || thread === undefined) return;
    const why = `the thread of the reports has told nothing for ${(SILENT_CHECKS * CHECK_MS) / 1000} s`;
    this.#onDeath(thread, new Error(why));
    void thread.terminate();
  }

  #onDeath(thread: Worker, reason: Error): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#forgetTimers();
    if (this.#isStopping) return;
    if (this.#port === 0) return this.#onListening?.reject(reason);
    this.#isListening = false;
    this.#parts.onDeath(reason, this.#pauseMs);
    this.#cancelTimers = [this.#parts.clock.setTimer(this.#pauseMs, () => this.#startThread())];
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.#pauseMs);
  }

  #every(intervalMs: number, act: () => void): void {
    const place = this.#cancelTimers.length;
    const again = (): void => {
      this.#cancelTimers[place] = this.#parts.clock.setTimer(intervalMs, () => {
        again();
        act();
      });
    };
    again();
  }

  #forgetTimers(): void {
    for (const cancel of this.#cancelTimers) cancel();
    this.#cancelTimers = [];
  }
}
