/** SIGTERM and SIGINT, counted from the start of the process. */
export class StopSignals {
  readonly first: Promise<void>;
  readonly second: Promise<void>;

  #count = 0;

  constructor() {
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        this.#count += 1;
        if (this.#count === 1) first.resolve();
        else second.resolve();
      });
    }
    this.first = first.promise;
    this.second = second.promise;
  }

  /** Whether the pod was asked to stop. */
  get haveCome(): boolean {
    return this.#count > 0;
  }
}
