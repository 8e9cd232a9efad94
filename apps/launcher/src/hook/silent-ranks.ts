/** Logs ranks without a hook while the job runs, so that a person can fix it early. */
import { formatRanks } from '@coxswain/api-types';

/** Who prints a step has done one, and a hook speaks with the first: what is left is that its word is still under way. */
const AFTER_STEP_MS = 10_000;
/** Where nothing is printed that can be read. Loading a large checkpoint takes minutes, and hooks speak once there is a process group. */
const AFTER_START_MS = 900_000;

const NO_HOOK =
  'python -I or -S, a program that replaces PYTHONPATH, no PyTorch, or no step yet. Coxswain cannot check what they train.';

/** Which ranks are silent, and how many milliseconds after the start or the first printed step the log names them. */
export interface SilenceOptions {
  /** Ranks for which no hook has connected so far. */
  readonly silentRanks: () => readonly number[];
  readonly logLine: (sentence: string) => void;
  readonly afterStepMs?: number;
  readonly afterStartMs?: number;
}

/** Logs once for each incarnation which ranks have no hook. */
export class SilentRanks {
  readonly #options: SilenceOptions;
  #timer: NodeJS.Timeout;
  #isStepSeen = false;
  #isReported = false;

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
    this.#logSilentRanks();
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#logSilentRanks(), ms).unref();
  }

  #logSilentRanks(): void {
    const ranks = this.#options.silentRanks();
    if (ranks.length === 0 || this.#isReported) return;
    this.#isReported = true;
    this.#options.logLine(`No hook has connected for ranks ${formatRanks(ranks)}: ${NO_HOOK}`);
  }
}
