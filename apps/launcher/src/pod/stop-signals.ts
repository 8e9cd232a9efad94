/** SIGTERM and SIGINT, counted from the start of the process. */
export class StopSignals {
  readonly first: Promise<void>;
  readonly second: Promise<void>;

  constructor() {
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    let count = 0;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        count += 1;
        if (count === 1) first.resolve();
        else second.resolve();
      });
    }
    this.first = first.promise;
    this.second = second.promise;
  }
}
