import type { SetTimer } from '../planner-process.ts';

/** Timers for tests: `passes` advances the time and fires what is due. */
export class FakeTimers {
  #nowMs = 0;
  readonly #due = new Map<() => void, number>();

  readonly set: SetTimer = (delayMs, fire) => {
    this.#due.set(fire, this.#nowMs + delayMs);
    return () => this.#due.delete(fire);
  };

  get pending(): number {
    return this.#due.size;
  }

  /** Whether a timer is due within `ms`. */
  isDueWithin(ms: number): boolean {
    return [...this.#due.values()].some((atMs) => atMs <= this.#nowMs + ms);
  }

  passes(ms: number): void {
    this.#nowMs += ms;
    for (const [fire, atMs] of [...this.#due]) {
      if (atMs > this.#nowMs) continue;
      this.#due.delete(fire);
      fire();
    }
  }
}
