/** Callers that wait for a list that begins after their request. */
export class RefreshRequests {
  #asked = 0;
  #answered = 0;
  readonly #waiting = new Set<{ readonly number: number; readonly settle: (isListed: boolean) => void }>();

  /** Number of the newest request. A list that begins now answers it and all before it. */
  get newest(): number {
    return this.#asked;
  }

  /** Whether a caller waits for a list. */
  get isOpen(): boolean {
    return this.#asked > this.#answered;
  }

  /** Resolves with true once a list that began later has been taken over, with false when `signal` aborts first. */
  ask(signal: AbortSignal): Promise<boolean> {
    this.#asked += 1;
    const number = this.#asked;
    return new Promise((resolve) => {
      const settle = (isListed: boolean): void => {
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(waiter);
        resolve(isListed);
      };
      const onAbort = (): void => settle(false);
      const waiter = { number, settle };
      this.#waiting.add(waiter);
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Resolves the requests that a list answers; it began when `newest` was `number`. */
  answer(number: number): void {
    this.#answered = Math.max(this.#answered, number);
    for (const waiter of [...this.#waiting]) if (waiter.number <= number) waiter.settle(true);
  }
}
