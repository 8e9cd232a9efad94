/** Work that is done one after the other, and of which so much waits at most: whoever asks for it cannot be trusted to stop. */
export class OneAfterTheOther {
  readonly #most: number;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Settles when nothing is left to do. */
  get done(): Promise<void> {
    return this.#last;
  }

  /** False where too much waits, and the work is not taken. It must not fail. */
  add(work: () => Promise<void>): boolean {
    if (this.#waiting >= this.#most) return false;
    this.#waiting += 1;
    this.#last = this.#last.then(work).then(() => {
      this.#waiting -= 1;
    });
    return true;
  }
}
