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
import type { RunEvidence } from './health-reports.ts';

/** Inputs of the thread and receivers of its messages. */
export interface IngestThreadParts {
  /** Called at every start of the thread. */
  readonly start: () => IngestStart;
  /** Must not reject. */
  readonly answer: (question: IngestQuestion) => Promise<IngestAnswer>;
  readonly take: (digest: IngestDigest) => void;
  /** The current view for the thread; jobs are those that changed since the previous call. */
  readonly view: () => { readonly leadership: LeadershipView; readonly jobs: readonly NewestEpoch[] };
  /** The thread ended and lost its connections. It restarts after `againInMs`. */
  readonly onDeath: (reason: Error, againInMs: number) => void;
  readonly clock: Clock;
  /** Replaces the worker in tests. */
  readonly worker?: URL;
}

const WORKER = new URL('./ingest-worker.ts', import.meta.url);
const VIEW_MS = 200;
const CHECK_MS = 10_000;
/** After this many consecutive checks without a digest the thread counts as hung; a healthy one sends a digest every second. */
const SILENT_CHECKS = 3;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A thread that lives shorter has not recovered, so the restart delay keeps growing. */
const HEALTHY_AFTER_MS = 60_000;
const STOP_WITHIN_MS = 5_000;
/** A thread that works answers within milliseconds. The end of a gang waits for this answer. */
const EVIDENCE_WITHIN_MS = 2_000;
/**
 * Heap limit of the thread. The series take up to 64 MiB and a connection about 20 kB. Beyond the limit the thread restarts, which costs its connections
 * a second; without a limit the whole process would end. The container needs this much beside the loop (345 MiB when its cache is first filled), hence
 * the chart's limit of 1 GiB.
 */
const HEAP_MIB = 384;

/**
 * Runs the ingest of reports in a worker thread, so that neither steps nor a flood of connections delays a decision. A thread that dies or hangs is
 * restarted: launchers reconnect, and all state that matters is reported again or recorded in the cluster.
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
  /** Time of the last digest, or of the start before the first; undefined before `start` and after `stop`. */
  #lastDigestAtMs: number | undefined;
  #cancelTimers: (() => void)[] = [];
  #onListening: PromiseWithResolvers<void> | undefined;
  #asked = 0;
  /** Open questions about evidence; the answer undefined ends one. */
  readonly #evidence = new Map<number, (evidence: RunEvidence | undefined) => void>();

  constructor(parts: IngestThreadParts) {
    this.#parts = parts;
  }

  /** 0 before the thread listens for the first time; the same at each later start. */
  get port(): number {
    return this.#port;
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  /** Time since the last digest, even if the thread has ended; 0 before `start` and after `stop`. */
  get silentMs(): number {
    return this.#lastDigestAtMs === undefined ? 0 : this.#parts.clock.monotonicMs() - this.#lastDigestAtMs;
  }

  /** Starts the thread. Rejects if it cannot listen, for instance because the port is in use. */
  async start(): Promise<void> {
    this.#onListening = Promise.withResolvers<void>();
    this.#lastDigestAtMs = this.#parts.clock.monotonicMs();
    this.#startThread();
    await this.#onListening.promise;
  }

  /** Sends a message. Without a running thread it is lost; the next view replaces it. */
  send(message: ToIngest): void {
    this.#thread?.postMessage(message);
  }

  /** Where the newest run of the job and these ranks are now; undefined if the thread does not know, or does not answer. Never rejects. */
  async readEvidence(jobUid: string, ranks: readonly number[]): Promise<RunEvidence | undefined> {
    if (this.#thread === undefined) return undefined;
    this.#asked += 1;
    const id = this.#asked;
    const { promise, resolve } = Promise.withResolvers<RunEvidence | undefined>();
    this.#evidence.set(id, resolve);
    const cancel = this.#parts.clock.setTimer(EVIDENCE_WITHIN_MS, () => resolve(undefined));
    this.send({ kind: 'readEvidence', id, jobUid, ranks });
    const evidence = await promise;
    cancel();
    this.#evidence.delete(id);
    return evidence;
  }

  /** Disconnects every launcher, closes the port and ends the thread. */
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
      // Flags of a test runner or profiler are for the main thread only.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#thread = thread;
    this.#threadStartedAtMs = this.#parts.clock.monotonicMs();
    this.#silentChecks = 0;
    thread.on('message', (message: FromIngest) => {
      if (this.#thread === thread) this.#receive(message);
    });
    thread.on('error', (error: Error) =>
      this.#onDeath(thread, new Error(`the ingest thread failed: ${error.message}`, { cause: error })),
    );
    thread.on('exit', () => this.#onDeath(thread, new Error('the ingest thread ended by itself')));
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
      case 'evidence':
        return this.#evidence.get(message.id)?.(message.evidence);
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

  /** Counts checks, not time: while this thread is blocked, digests of the other one are unread. */
  #check(): void {
    this.#silentChecks += 1;
    const thread = this.#thread;
    if (this.#silentChecks < SILENT_CHECKS || thread === undefined) return;
    const why = `the ingest thread has sent nothing for ${(SILENT_CHECKS * CHECK_MS) / 1000} s`;
    this.#onDeath(thread, new Error(why));
    void thread.terminate();
  }

  #onDeath(thread: Worker, reason: Error): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    for (const resolve of this.#evidence.values()) resolve(undefined);
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
