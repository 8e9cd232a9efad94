import type { Clock } from './clock.ts';

/** How long reconciles may hold one turn of the event loop. */
const LONGEST_TURN_MS = 10;

/**
 * Turns of the event loop, for work that many callers do in steps. Several answers may arrive in one turn, and what each caller does next would run in that
 * turn, one after the other, without timers or sockets between them. After a while the others get a turn of their own each.
 */
export class Turns {
  readonly #clock: Clock;
  /** When the first step of this turn began; absent before it. */
  #sinceMs: number | undefined;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the caller may go on: at once, or in a later turn if the steps of this one have taken long. */
  async next(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#waiting.length === 0) {
      if (this.#sinceMs === undefined) this.#begin(nowMs);
      if (nowMs - (this.#sinceMs ?? nowMs) < LONGEST_TURN_MS) return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#clock.setTimer(0, () => {
      this.#sinceMs = undefined;
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#begin(this.#clock.monotonicMs());
      next();
    });
  }
}
