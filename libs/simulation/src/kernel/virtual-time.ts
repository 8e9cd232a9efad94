import { EventQueue } from './event-queue.ts';

/** What happens at a moment of virtual time. */
export type Happening = () => void;

/** Discrete events on a clock of its own: time goes from one event to the next, in milliseconds since the beginning, and nothing waits. */
export class VirtualTime {
  readonly #queue = new EventQueue<Happening>();
  #nowMs = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  /** At that time, or now where that is over. */
  at(atMs: number, happening: Happening): void {
    this.#queue.push(Math.max(atMs, this.#nowMs), happening);
  }

  after(delayMs: number, happening: Happening): void {
    this.at(this.#nowMs + delayMs, happening);
  }

  /** Lets everything happen that is due before `untilMs`, which it is then. */
  runUntil(untilMs: number): void {
    for (let atMs = this.#queue.nextAtMs; atMs !== undefined && atMs < untilMs; atMs = this.#queue.nextAtMs) {
      this.#nowMs = atMs;
      this.#queue.pop()?.event();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }
}
