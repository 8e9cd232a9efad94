/** Runs work one piece after the other, and rejects more than a fixed number of waiting pieces: who adds work cannot be trusted to stop. */
export class BoundedSerialQueue {
  readonly #maxWaiting: number;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Settles when all work that was added so far is done. */
  get done(): Promise<void> {
    return this.#last;
  }

  /** Whether work waits for that which is under way. */
  get isWaiting(): boolean {
    return this.#waiting > 1;
  }

  /** Returns false, and does not take the work, if too much waits. The work must not reject. */
  add(work: () => Promise<void>): boolean {
    if (this.#waiting >= this.#maxWaiting) return false;
    this.#waiting += 1;
    this.#last = this.#last.then(work).then(() => {
      this.#waiting -= 1;
    });
    return true;
  }
}
