import type { Clock } from '@coxswain/kube';

/**
 * Limits reconciles for changes that come by the hundred per second, such as reported steps or the pods of a gang that starts. The job is reconciled
 * once per interval: the first time at once, then at most one interval after a change.
 */
export class PacedWakes {
  readonly #options: {
    readonly clock: Clock;
    readonly intervalMs: number;
    /** Called when the job of that UID must be reconciled. */
    readonly onDue: (jobUid: string) => void;
  };
  readonly #pending = new Map<string, { readonly dueAtMs: number; readonly cancel: () => void }>();
  readonly #lastDueAtMs = new Map<string, number>();

  constructor(options: {
    readonly clock: Clock;
    readonly intervalMs: number;
    readonly onDue: (jobUid: string) => void;
  }) {
    this.#options = options;
  }

  /**
   * There is news of the job: it is due at once, or when an interval has passed since it was due last. News that may wait longer than others
   * say so with an interval of their own, and never hold back what is due sooner.
   */
  news(jobUid: string, intervalMs = this.#options.intervalMs): void {
    const { clock, onDue } = this.#options;
    const nowMs = clock.monotonicMs();
    const dueAtMs = Math.max(nowMs, (this.#lastDueAtMs.get(jobUid) ?? -Infinity) + intervalMs);
    const pending = this.#pending.get(jobUid);
    if (pending !== undefined) {
      if (pending.dueAtMs <= dueAtMs) return;
      pending.cancel();
    }
    const cancel = clock.setTimer(dueAtMs - nowMs, () => {
      this.#pending.delete(jobUid);
      this.#lastDueAtMs.set(jobUid, clock.monotonicMs());
      onDue(jobUid);
    });
    this.#pending.set(jobUid, { dueAtMs, cancel });
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#pending.get(jobUid)?.cancel();
    this.#pending.delete(jobUid);
    this.#lastDueAtMs.delete(jobUid);
  }

  /** Jobs that something is kept for; for tests of memory. */
  get size(): number {
    return new Set([...this.#pending.keys(), ...this.#lastDueAtMs.keys()]).size;
  }

  /** Nothing becomes due any more. */
  stop(): void {
    for (const { cancel } of this.#pending.values()) cancel();
    this.#pending.clear();
  }
}
