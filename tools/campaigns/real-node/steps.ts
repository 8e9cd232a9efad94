import { secondsSince } from '../../setup/progress.ts';

/** Runs steps, tells each with its time, and counts those that failed. */
export class Steps {
  readonly #say: (line: string) => void;
  readonly failed: string[] = [];
  passed = 0;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** `work` gives what it saw, as the rest of the sentence. Resolves with whether it passed; others may be tried all the same. */
  async run(sentence: string, work: () => Promise<string | undefined>): Promise<boolean> {
    const started = performance.now();
    try {
      const seen = await work();
      this.passed += 1;
      this.#say(`PASS  ${sentence}${seen === undefined ? '' : `: ${seen}`} (${secondsSince(started)})`);
      return true;
    } catch (error) {
      this.failed.push(sentence);
      const why = error instanceof Error ? error.message : String(error);
      this.#say(`FAIL  ${sentence}: ${why} (${secondsSince(started)})`);
      return false;
    }
  }
}

/** Throws with the sentence unless it holds. */
export function must(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(sentence);
}
