import { setTimeout as delay } from 'node:timers/promises';

/** Something that is done again and again, one after the other, until it is stopped; what throws is tried again. */
export class Repeating {
  readonly #step: () => Promise<unknown>;
  readonly #intervalMs: number;
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(intervalMs: number, step: () => Promise<unknown>) {
    this.#intervalMs = intervalMs;
    this.#step = step;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Resolves when what was under way has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#step().catch(() => undefined);
      await delay(this.#intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
