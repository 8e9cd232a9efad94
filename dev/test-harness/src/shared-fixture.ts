/** Holds how many of a run's test files use the fixture `name`; the test runner sets it. */
export function usersVariable(name: string): string {
  return `COXSWAIN_TEST_USERS_OF_${name.toUpperCase()}`;
}

/** How a fixture starts and ends. */
export interface FixtureParts<T> {
  /** Tells fixtures of one process apart. */
  readonly name: string;
  readonly start: () => Promise<T>;
  readonly stop: (fixture: T) => Promise<void>;
}

/**
 * One thing that test files of a process use one after the other: started for the first, stopped after the last. The test runner counts the files;
 * without its count, each file has a fixture of its own.
 */
export class SharedFixture<T> {
  readonly #parts: FixtureParts<T>;
  #started: Promise<T> | undefined;
  #usersLeft: number;

  constructor(parts: FixtureParts<T>) {
    this.#parts = parts;
    this.#usersLeft = Number(process.env[usersVariable(parts.name)] ?? 1);
  }

  /** The fixture, which is started if no file used it before. One that did not start is started again for the next file. */
  async take(): Promise<T> {
    this.#started ??= this.#parts.start();
    try {
      return await this.#started;
    } catch (error) {
      this.#started = undefined;
      throw error;
    }
  }

  /** Each file calls it once, at its end, whatever became of the file. */
  async release(): Promise<void> {
    this.#usersLeft -= 1;
    if (this.#usersLeft > 0) return;
    const started = this.#started;
    this.#started = undefined;
    if (started !== undefined) await this.#parts.stop(await started);
  }
}
