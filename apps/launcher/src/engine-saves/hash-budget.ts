import { setTimeout as delay } from 'node:timers/promises';

/** Half of what one core hashes, and little of what a file server gives: ranks train beside it. */
const BYTES_PER_SECOND = 256 * 1024 * 1024;
/** Of one save. What is not read in this time has its size alone in the manifest. */
const MOST_MS = 300_000;

/** How much of a save is read once more, so that its content can be told from another. */
export class HashBudget {
  readonly #bytesPerSecond: number;
  readonly #startedMs = performance.now();
  #untilMs: number;
  #bytes = 0;

  constructor({ mostMs = MOST_MS, bytesPerSecond = BYTES_PER_SECOND } = {}) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#untilMs = this.#startedMs + mostMs;
  }

  /** From now on at most this long. */
  cutTo(ms: number): void {
    this.#untilMs = Math.min(this.#untilMs, performance.now() + ms);
  }

  get isSpent(): boolean {
    return performance.now() >= this.#untilMs;
  }

  /** So many bytes were read; settles when more may be. */
  async spend(bytes: number): Promise<void> {
    this.#bytes += bytes;
    const aheadMs = (this.#bytes / this.#bytesPerSecond) * 1_000 - (performance.now() - this.#startedMs);
    if (aheadMs > 0) await delay(Math.min(aheadMs, this.#untilMs - performance.now()));
  }
}
