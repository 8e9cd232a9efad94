import type { SetTimer } from '../planner-process.ts';

/** Time passes by hand: `passes` fires whatever is due by then. */
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

  /** Whether something fires when so much time passes. */
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
