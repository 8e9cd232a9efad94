import type { Clock } from '../clock.ts';

/** A clock that stands still until told otherwise. Wall time may be set apart from monotonic time, as on real machines. */
export class FakeClock implements Clock {
  #nowMs: number;
  #wallOffsetMs: number;
  #timers: { readonly dueAtMs: number; readonly order: number; readonly fire: () => void }[] = [];
  #order = 0;

  constructor(startAt = new Date('2026-01-01T00:00:00.000Z')) {
    this.#nowMs = 0;
    this.#wallOffsetMs = startAt.getTime();
  }

  now(): Date {
    return new Date(this.#wallOffsetMs + this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** Steps the wall clock only, as an administrator or NTP does. */
  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  setTimer(delayMs: number, fire: () => void): () => void {
    const timer = { dueAtMs: this.#nowMs + Math.max(0, delayMs), order: (this.#order += 1), fire };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** How many timers wait: 0 shows that nothing was left behind. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Lets `byMs` pass: timers fire in order, and everything that waits for them gets its turn in between. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await settle();
    for (;;) {
      const due = this.#timers.filter((timer) => timer.dueAtMs <= untilMs);
      const next = due.sort((a, b) => a.dueAtMs - b.dueAtMs || a.order - b.order)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.dueAtMs);
      next.fire();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  /** Time passes without anybody running, as during SIGSTOP: no timer fires until the next `advance`. */
  stall(byMs: number): void {
    this.#nowMs += byMs;
  }
}

/** Lets everything that is ready to run do so, without time passing. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
