import { setTimeout as delay } from 'node:timers/promises';

/** Half of what one core hashes, and little of what a file server gives: ranks train beside it. */
const BYTES_PER_SECOND = 256 * 1024 * 1024;
/** Time limit for one save. Files that are not read in this time have only their size in the manifest. */
const MOST_MS = 300_000;

/** How much of a save is read again to hash its content. */
export class HashBudget {
  readonly #bytesPerSecond: number;
  readonly #startedMs = performance.now();
  #untilMs: number;
  #bytes = 0;

  constructor({ mostMs = MOST_MS, bytesPerSecond = BYTES_PER_SECOND } = {}) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#untilMs = this.#startedMs + mostMs;
  }

  /** Limits the remaining time. */
  cutTo(ms: number): void {
    this.#untilMs = Math.min(this.#untilMs, performance.now() + ms);
  }

  get isSpent(): boolean {
    return performance.now() >= this.#untilMs;
  }

  /** Records that bytes were read; settles when more may be read. */
  async spend(bytes: number): Promise<void> {
    this.#bytes += bytes;
    const aheadMs = (this.#bytes / this.#bytesPerSecond) * 1_000 - (performance.now() - this.#startedMs);
    if (aheadMs > 0) await delay(Math.min(aheadMs, this.#untilMs - performance.now()));
  }
}
