import type { ObservedProgress } from '@coxswain/lifecycle';
import type { Gang } from './rendezvous.ts';
import type { NewStepFrame } from './series-ring.ts';

/** As much of a step as progress is made of; `stepTimeMs` is that of the slowest rank. */
type Step = Pick<NewStepFrame, 'step' | 'loss' | 'tokens' | 'stepTimeMs'>;

interface Entry {
  readonly epoch: number;
  step: number;
  loss: number | undefined;
  tokens: number | undefined;
  /** Moving average: one slow step (a save, a page fault) must not make the forecast jump. */
  stepTimeMs: number | undefined;
}

/** Weight of the newest step in the moving average of step times. */
const SMOOTHING = 0.1;

/** How far each job is, by what its launchers say. Only for display: nothing is decided by it. */
export class ProgressTracker {
  readonly #entries = new Map<string, Entry>();

  /** A step was finished; answers whether it is news. Steps of one epoch never fall, and an earlier epoch has no say. */
  recordStep(gang: Gang, reported: Step): boolean {
    const entry = this.#entryOf(gang);
    if (entry === undefined || reported.step < entry.step) return false;
    // Several pods report the same step; only one of them may know loss and tokens.
    entry.loss = reported.loss ?? (reported.step === entry.step ? entry.loss : undefined);
    entry.tokens = reported.tokens ?? entry.tokens;
    if (reported.step > entry.step) {
      const average = entry.stepTimeMs ?? reported.stepTimeMs;
      entry.stepTimeMs = average + SMOOTHING * (reported.stepTimeMs - average);
    }
    entry.step = reported.step;
    return true;
  }

  /** The gang loaded a checkpoint of that step. */
  recordResumed(gang: Gang, step: number): void {
    const entry = this.#entryOf(gang);
    if (entry !== undefined && step > entry.step) entry.step = step;
  }

  /** How far a job is, with a forecast when the number of steps and their pace are known. */
  progressOf(jobUid: string, totalSteps?: number): ObservedProgress | undefined {
    const entry = this.#entries.get(jobUid);
    if (entry === undefined || entry.step === 0) return undefined;
    const { epoch, step, loss, tokens, stepTimeMs } = entry;
    const hasPace = stepTimeMs !== undefined && stepTimeMs > 0;
    const left = totalSteps === undefined ? undefined : Math.max(0, totalSteps - step);
    return {
      epoch,
      step,
      ...(loss === undefined ? {} : { loss }),
      ...(hasPace && tokens !== undefined ? { tokensPerSecond: round(tokens / (stepTimeMs / 1000)) } : {}),
      ...(hasPace && left !== undefined ? { etaSeconds: Math.round((left * stepTimeMs) / 1000) } : {}),
    };
  }

  /** The job is gone or finished. */
  forget(jobUid: string): void {
    this.#entries.delete(jobUid);
  }

  #entryOf({ jobUid, epoch }: Gang): Entry | undefined {
    const known = this.#entries.get(jobUid);
    if (known !== undefined && known.epoch === epoch) return known;
    if (known !== undefined && known.epoch > epoch) return undefined;
    const entry: Entry = { epoch, step: 0, loss: undefined, tokens: undefined, stepTimeMs: undefined };
    this.#entries.set(jobUid, entry);
    return entry;
  }
}

/** Three significant digits are what a moving average is worth. */
function round(value: number): number {
  return Number(value.toPrecision(3));
}
