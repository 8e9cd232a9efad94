/** When is it said that no hook speaks for a rank? A person may mend it while the job runs, and not after days of it. */
import { formatRanks } from '@coxswain/api-types';

/** Who prints a step has done one, and a hook speaks with the first: what is left is that its word is still under way. */
const AFTER_STEP_MS = 10_000;
/** Where nothing is printed that can be read. Loading a large checkpoint takes minutes, and hooks speak once there is a process group. */
const AFTER_START_MS = 900_000;

const NO_HOOK =
  'python -I or -S, PYTHONPATH set anew by the program, no PyTorch, or no step yet. What they train is not seen from inside.';

export interface SilenceOptions {
  /** Ranks for which nobody has spoken so far. */
  readonly silentRanks: () => readonly number[];
  readonly say: (sentence: string) => void;
  readonly afterStepMs?: number;
  readonly afterStartMs?: number;
}

/** Says it once, of the ranks of one incarnation. */
export class SilentRanks {
  readonly #options: SilenceOptions;
  #timer: NodeJS.Timeout;
  #isStepSeen = false;
  #isSaid = false;

  constructor(options: SilenceOptions) {
    this.#options = options;
    this.#timer = this.#after(options.afterStartMs ?? AFTER_START_MS);
  }

  /** The engine has printed of a step. */
  stepPrinted(): void {
    if (this.#isStepSeen) return;
    this.#isStepSeen = true;
    clearTimeout(this.#timer);
    this.#timer = this.#after(this.#options.afterStepMs ?? AFTER_STEP_MS);
  }

  /** The ranks have ended. */
  end(): void {
    clearTimeout(this.#timer);
    this.#isStepSeen = true;
    this.#say();
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#say(), ms).unref();
  }

  #say(): void {
    const ranks = this.#options.silentRanks();
    if (ranks.length === 0 || this.#isSaid) return;
    this.#isSaid = true;
    this.#options.say(`No hook has spoken for ranks ${formatRanks(ranks)}: ${NO_HOOK}`);
  }
}
