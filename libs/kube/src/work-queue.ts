import { TokenBucket } from '@coxswain/units';
import type { BackoffBounds } from './backoff.ts';
import { backoffMs } from './backoff.ts';
import type { Clock } from './clock.ts';
import { DueHeap } from './due-heap.ts';
import { isConflict, isRetryable, retryAfterMsOf } from './errors.ts';
import type { KubeMetrics } from './metrics.ts';
import { noMetrics } from './metrics.ts';
import type {
  QueuePriority,
  QueueStats,
  Reconcile,
  ReconcileContext,
  ReconcileResult,
  RunOptions,
  WorkQueueOptions,
} from './queue-contract.ts';

/*
 * A key is in exactly one of these states:
 *
 *   idle ──add──► ready ──a worker is free──► running ──ok──► idle
 *                   ▲                            │ add while running: dirty, ready again as soon as it ends
 *                   └──────── due ◄── waiting ◄──┘ requeueAfterMs, or an error: backoff
 *
 * `add` on a waiting key makes it ready at once, but a failing key never sooner than its shortest backoff. A key whose reconcile has
 * thrown `quarantineAfter` times in a row is quarantined: it waits for `quarantineMs`, and only an edit by a user ('user') brings it
 * forward, at most once per second.
 * Errors that the key does not cause (the server is unavailable or busy, a conflict) back off but never quarantine, so that an outage does
 * not leave every key waiting for minutes after it.
 *
 * More than 400 lines: the states above and every way between them, which are only right together.
 */

/** Keys that need a reconcile: each at most once, one worker per key, with backoff, priorities and quarantine. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #clock: Clock;
  readonly #metrics: KubeMetrics;
  readonly #bucket: TokenBucket;
  readonly #ready: Readonly<Record<QueuePriority, Map<string, number>>> = {
    user: new Map(),
    normal: new Map(),
    resync: new Map(),
  };
  readonly #waiting = new DueHeap();
  readonly #waitingPriority = new Map<string, QueuePriority>();
  readonly #running = new Set<string>();
  readonly #dirty = new Map<string, QueuePriority>();
  readonly #failing = new Map<string, Failing>();
  #run: ActiveRun | undefined;
  /** How long reconciles have blocked the event loop since other work last ran, at most. */
  #heldMs = 0;
  #resting: (() => void) | undefined;
  #busyWorkers = 0;
  #picks = 0;
  /** When a reconcile ended last, or the first of those under way began. */
  #progressAtMs = 0;
  #cancelTimer = (): void => undefined;
  #timerAtMs = Infinity;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#metrics = options.metrics ?? noMetrics;
    this.#bucket = new TokenBucket(options.rate ?? { perSecond: 50, burst: 300 }, options.clock.monotonicMs());
  }

  /** Queues `key` for a reconcile as soon as a worker is free. Adding it again before the start only raises its priority. */
  add(key: string, priority: QueuePriority = 'normal'): void {
    this.#metrics.count('queue_adds_total', this.#labels({ priority }));
    if (this.#running.has(key)) {
      this.#dirty.set(key, higher(this.#dirty.get(key), priority));
      return;
    }
    const failing = this.#failing.get(key);
    if (failing !== undefined && this.#waiting.dueAtMs(key) !== undefined) {
      if (failing.quarantined && priority !== 'user') return;
      // A failing key is often woken by its own writes, so a change may shorten its backoff but not skip it.
      const gapMs = failing.quarantined ? QUARANTINE_PROBE_MS : this.#backoffBounds().minMs;
      const mayRunAtMs = failing.lastRunAtMs + gapMs;
      if (mayRunAtMs > this.#clock.monotonicMs()) return this.#waitUntil(key, mayRunAtMs, priority);
    }
    this.#stopWaiting(key);
    this.#makeReady(key, priority);
  }

  /** Queues `key` for a reconcile after `delayMs`; the earliest of several requests counts. */
  addAfter(key: string, delayMs: number, priority: QueuePriority = 'normal'): void {
    if (delayMs <= 0) return this.add(key, priority);
    this.#waitUntil(key, this.#clock.monotonicMs() + delayMs, priority);
  }

  /** Queues `key` for a reconcile after its own backoff and the queue's rate, whichever is later; counts as one failure of the key. */
  addRateLimited(key: string, priority: QueuePriority = 'normal'): void {
    const failing = this.#countFailure(key, false);
    const delayMs = backoffMs(this.#backoffBounds(), { failures: failing.failures }, this.#options.random);
    this.addAfter(key, Math.max(delayMs, this.#bucket.borrow(this.#clock.monotonicMs())), priority);
  }

  /** Forgets the failures of a key and lifts its quarantine; a waiting retry stays. */
  forget(key: string): void {
    this.#failing.delete(key);
  }

  /** Failures of a key in a row. */
  failuresOf(key: string): number {
    return this.#failing.get(key)?.failures ?? 0;
  }

  /** Figures for health and metrics. */
  stats(): QueueStats {
    const { user, normal, resync } = this.#ready;
    return {
      ready: user.size + normal.size + resync.size,
      waiting: this.#waiting.size,
      running: this.#running.size,
      failing: this.#failing.size,
      quarantined: [...this.#failing.values()].filter((failing) => failing.quarantined).length,
      stalledMs: this.#running.size === 0 ? 0 : this.#clock.monotonicMs() - this.#progressAtMs,
    };
  }

  /**
   * Works until `signal` aborts and what was under way has ended or run out of time. Resolves with the keys whose reconcile did not end.
   * Keys added before the start are kept and worked on.
   */
  run(options: RunOptions): Promise<{ readonly abandoned: readonly string[] }> {
    if (this.#run !== undefined) throw new Error(`the queue ${this.#options.name ?? ''} runs already`);
    return new Promise((resolve) => {
      const hardStop = new AbortController();
      const run: ActiveRun = { ...options, hardStop, stopping: false, finish: () => undefined };
      const finish = (): void => {
        cancelDrain();
        this.#run = undefined;
        this.#resting?.();
        this.#resting = undefined;
        this.#cancelTimer();
        this.#timerAtMs = Infinity;
        resolve({ abandoned: [...this.#running] });
      };
      let cancelDrain = (): void => undefined;
      run.finish = finish;
      const stop = (): void => {
        run.stopping = true;
        if (this.#running.size === 0) return finish();
        cancelDrain = this.#clock.setTimer(options.drainMs ?? DRAIN_MS, () => {
          hardStop.abort(new DOMException('the queue is stopping and its drain time is over', 'AbortError'));
          finish();
        });
      };
      this.#run = run;
      if (options.signal.aborted) return stop();
      options.signal.addEventListener('abort', stop, { once: true });
      this.#arm();
      this.#pump();
    });
  }

  #makeReady(key: string, priority: QueuePriority): void {
    const current = PRIORITIES.find((level) => this.#ready[level].has(key));
    if (current !== undefined && rank(current) <= rank(priority)) return;
    const sinceMs = current === undefined ? this.#clock.monotonicMs() : this.#ready[current].get(key);
    if (current !== undefined) this.#ready[current].delete(key);
    this.#ready[priority].set(key, sinceMs ?? this.#clock.monotonicMs());
    this.#pump();
  }

  #waitUntil(key: string, dueAtMs: number, priority: QueuePriority): void {
    if (PRIORITIES.some((level) => this.#ready[level].has(key))) return;
    const known = this.#waiting.dueAtMs(key);
    this.#waitingPriority.set(key, higher(this.#waitingPriority.get(key), priority));
    if (known !== undefined && known <= dueAtMs) return;
    this.#waiting.set(key, dueAtMs);
    this.#arm();
  }

  #stopWaiting(key: string): void {
    this.#waiting.delete(key);
    this.#waitingPriority.delete(key);
  }

  /** One timer, for the earliest key. */
  #arm(): void {
    const earliestMs = this.#waiting.earliestMs();
    if (this.#run === undefined || this.#run.stopping || earliestMs === undefined || earliestMs >= this.#timerAtMs)
      return;
    this.#cancelTimer();
    this.#timerAtMs = earliestMs;
    this.#cancelTimer = this.#clock.setTimer(earliestMs - this.#clock.monotonicMs(), () => {
      this.#timerAtMs = Infinity;
      this.#takeDue();
      this.#arm();
    });
  }

  #takeDue(): void {
    for (const key of this.#waiting.takeDue(this.#clock.monotonicMs())) {
      const priority = this.#waitingPriority.get(key) ?? 'normal';
      this.#waitingPriority.delete(key);
      if (this.#running.has(key)) this.#dirty.set(key, higher(this.#dirty.get(key), priority));
      else this.#makeReady(key, priority);
    }
  }

  #pump(): void {
    const run = this.#run;
    while (run !== undefined && !run.stopping && this.#busyWorkers < run.workers) {
      if (this.#mustLetOthersRun()) return;
      const picked = this.#pick();
      if (picked === undefined) return;
      void this.#work(run, picked);
    }
  }

  /** Reconciles that never wait would run without a turn of the event loop; after a while timers and sockets get one. */
  #mustLetOthersRun(): boolean {
    if (this.#heldMs < LONGEST_HOLD_MS) return false;
    this.#resting ??= this.#clock.setTimer(0, () => {
      this.#resting = undefined;
      this.#heldMs = 0;
      this.#pump();
    });
    return true;
  }

  /** The first key of the highest priority. Every tenth pick takes the lowest priority instead, so that no key starves. */
  #pick(): Picked | undefined {
    const order = this.#picks % 10 === 9 ? PRIORITIES.toReversed() : PRIORITIES;
    for (const priority of order) {
      const first = this.#ready[priority].entries().next().value;
      if (first === undefined) continue;
      this.#picks += 1;
      const [key, sinceMs] = first;
      this.#ready[priority].delete(key);
      this.#metrics.observe(
        'queue_wait_seconds',
        (this.#clock.monotonicMs() - sinceMs) / 1_000,
        this.#labels({ priority }),
      );
      return { key, priority };
    }
    return undefined;
  }

  async #work(run: ActiveRun, picked: Picked): Promise<void> {
    const { key, priority } = picked;
    if (this.#running.size === 0) this.#progressAtMs = this.#clock.monotonicMs();
    this.#running.add(key);
    this.#busyWorkers += 1;
    const startedAtMs = this.#clock.monotonicMs();
    const limit = this.#limitTime(run);
    const call = callSafely(run.reconcile, key, { signal: limit.signal, failures: this.failuresOf(key), priority });
    this.#heldMs += this.#clock.monotonicMs() - startedAtMs;
    const outcome = await Promise.race([call, limit.expired]);
    limit.cancel();
    this.#busyWorkers -= 1;
    this.#metrics.observe('queue_reconcile_seconds', (this.#clock.monotonicMs() - startedAtMs) / 1_000, this.#labels());
    if (outcome.kind === 'expired') {
      // The worker is free again; the key stays locked until the call really ends, for two at once would be worse than none.
      this.#pump();
      await call;
      this.#settle(picked, { kind: 'failed', error: outcome.error });
    } else this.#settle(picked, outcome);
    if (run.stopping && this.#running.size === 0 && this.#run === run) run.finish();
    this.#pump();
  }

  #settle({ key, priority }: Picked, outcome: Outcome): void {
    this.#running.delete(key);
    this.#progressAtMs = this.#clock.monotonicMs();
    this.#metrics.count('queue_reconciles_total', this.#labels({ outcome: outcome.kind }));
    const dirty = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (outcome.kind === 'failed') return this.#afterFailure(key, { error: outcome.error, dirty, priority });
    this.#failing.delete(key);
    if (dirty !== undefined) return this.add(key, dirty);
    const { requeueAfterMs } = outcome.result;
    if (requeueAfterMs !== undefined) this.addAfter(key, requeueAfterMs, 'normal');
  }

  #afterFailure(
    key: string,
    failed: { error: unknown; dirty: QueuePriority | undefined; priority: QueuePriority },
  ): void {
    const isTransient = this.#options.isTransient ?? ((error: unknown) => isRetryable(error) || isConflict(error));
    const transient = isTransient(failed.error);
    const failing = this.#countFailure(key, !transient);
    const bounds = this.#backoffBounds();
    const maxMs = transient ? Math.min(bounds.maxMs, this.#options.transientMaxMs ?? 10_000) : bounds.maxMs;
    const tries = { failures: failing.failures, retryAfterMs: retryAfterMsOf(failed.error) };
    const delayMs = failing.quarantined
      ? (this.#options.quarantineMs ?? QUARANTINE_MS) * (1 + this.#options.random() / 10)
      : backoffMs({ minMs: bounds.minMs, maxMs }, tries, this.#options.random);
    const retryInMs = Math.max(delayMs, this.#bucket.borrow(this.#clock.monotonicMs()));
    this.#waitUntil(key, this.#clock.monotonicMs() + retryInMs, higher(failed.dirty, failed.priority));
    if (failed.dirty === 'user') this.add(key, 'user');
    try {
      this.#options.onError?.({
        key,
        error: failed.error,
        failures: failing.failures,
        quarantined: failing.quarantined,
        retryInMs,
      });
    } catch {
      // A failing listener must not stop the queue.
    }
  }

  #countFailure(key: string, isOwnFault: boolean): Failing {
    const before = this.#failing.get(key);
    const ownFaults = (before?.ownFaults ?? 0) + (isOwnFault ? 1 : 0);
    const quarantined = ownFaults >= (this.#options.quarantineAfter ?? QUARANTINE_AFTER);
    if (quarantined && before?.quarantined !== true) this.#metrics.count('queue_quarantined_total', this.#labels());
    const failing = {
      failures: (before?.failures ?? 0) + 1,
      ownFaults,
      quarantined,
      lastRunAtMs: this.#clock.monotonicMs(),
    };
    this.#failing.set(key, failing);
    return failing;
  }

  #limitTime(run: ActiveRun): { signal: AbortSignal; expired: Promise<Expired>; cancel: () => void } {
    const timeoutMs = this.#options.reconcileTimeoutMs ?? RECONCILE_TIMEOUT_MS;
    const timeout = new AbortController();
    let cancel = (): void => undefined;
    const expired = new Promise<Expired>((resolve) => {
      cancel = this.#clock.setTimer(timeoutMs, () => {
        const error = new DOMException(`the reconcile took longer than ${timeoutMs} ms`, 'TimeoutError');
        timeout.abort(error);
        resolve({ kind: 'expired', error });
      });
    });
    return { signal: AbortSignal.any([timeout.signal, run.hardStop.signal]), expired, cancel };
  }

  #backoffBounds(): BackoffBounds {
    return this.#options.backoff ?? DEFAULT_BACKOFF;
  }

  #labels(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    return { queue: this.#options.name ?? 'default', ...more };
  }
}

const PRIORITIES: readonly QueuePriority[] = ['user', 'normal', 'resync'];
const DEFAULT_BACKOFF: BackoffBounds = { minMs: 500, maxMs: 60_000 };
const QUARANTINE_AFTER = 5;
const QUARANTINE_MS = 300_000;
const QUARANTINE_PROBE_MS = 1_000;
const RECONCILE_TIMEOUT_MS = 120_000;
/** How long reconciles may hold up the event loop together. */
const LONGEST_HOLD_MS = 20;
const DRAIN_MS = 25_000;

interface Failing {
  readonly failures: number;
  readonly ownFaults: number;
  readonly quarantined: boolean;
  readonly lastRunAtMs: number;
}

interface Picked {
  readonly key: string;
  readonly priority: QueuePriority;
}

type Outcome =
  { readonly kind: 'done'; readonly result: ReconcileResult } | { readonly kind: 'failed'; readonly error: unknown };

interface Expired {
  readonly kind: 'expired';
  readonly error: unknown;
}

interface ActiveRun extends RunOptions {
  readonly hardStop: AbortController;
  stopping: boolean;
  finish: () => void;
}

/** A reconcile that throws before its first await fails like any other. */
async function callSafely(reconcile: Reconcile, key: string, context: ReconcileContext): Promise<Outcome> {
  try {
    return { kind: 'done', result: (await reconcile(key, context)) ?? {} };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

function rank(priority: QueuePriority): number {
  return PRIORITIES.indexOf(priority);
}

function higher(a: QueuePriority | undefined, b: QueuePriority): QueuePriority {
  return a !== undefined && rank(a) < rank(b) ? a : b;
}
