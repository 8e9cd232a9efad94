import type { TrainingJob } from '@coxswain/api-types';
import type { CacheChange, Clock, KubeObject } from '@coxswain/kube';
import { type GoodputTotal, GoodputTotals } from './goodput-totals.ts';

/** Time for one slice of work. Other work of the loop goes on between two slices. */
const SLICE_MS = 4;
/** A scrape waits so long for the totals to be complete; only the first list of many jobs takes longer. */
const SETTLE_MS = 5_000;

type ChangeOfJob = CacheChange<TrainingJob & KubeObject>;

/** Keeps {@link GoodputTotals} up to date with the cache of jobs, in slices, so that neither a list of many jobs nor a scrape holds up the loop. */
export class GoodputRecorder {
  readonly #clock: Clock;
  readonly #totals: GoodputTotals;
  /** The newest state of jobs that changed since they were recorded, by UID. */
  readonly #changed = new Map<string, TrainingJob>();
  #waiting: (() => void)[] = [];
  #cancelSlice: (() => void) | undefined;

  constructor(parts: { readonly clock: Clock }) {
    this.#clock = parts.clock;
    this.#totals = new GoodputTotals(() => parts.clock.now());
  }

  /** Takes a change of the cache into account, soon. */
  observe({ kind, object }: ChangeOfJob): void {
    const { uid } = object.metadata;
    if (kind === 'deleted') {
      this.#changed.delete(uid);
      this.#totals.forget(uid);
      return;
    }
    this.#changed.set(uid, object);
    this.#cancelSlice ??= this.#clock.setTimer(0, () => this.#runSlice());
  }

  /** Resolves when every change so far is part of the totals, and after a few seconds in any case. */
  async settled(): Promise<void> {
    if (this.#changed.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.setTimer(SETTLE_MS, resolve);
    this.#waiting.push(resolve);
    await promise;
    cancel();
  }

  /** The totals of what was recorded. */
  read(): readonly GoodputTotal[] {
    return this.#totals.read();
  }

  stop(): void {
    this.#cancelSlice?.();
    this.#cancelSlice = undefined;
    this.#resolveWaiting();
  }

  #runSlice(): void {
    this.#cancelSlice = undefined;
    const untilMs = this.#clock.monotonicMs() + SLICE_MS;
    for (const [uid, job] of this.#changed) {
      this.#changed.delete(uid);
      this.#totals.record(job);
      if (this.#clock.monotonicMs() >= untilMs) break;
    }
    if (this.#changed.size > 0) this.#cancelSlice = this.#clock.setTimer(0, () => this.#runSlice());
    else this.#resolveWaiting();
  }

  #resolveWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
