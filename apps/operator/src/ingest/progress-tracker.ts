import type { ObservedProgress } from '@coxswain/lifecycle';
import type { Gang } from './rendezvous.ts';
import type { NewStepFrame } from './series-ring.ts';

/** As much of a step as progress is made of; `stepTimeMs` is that of the slowest rank. */
type Step = Pick<NewStepFrame, 'at' | 'step' | 'loss' | 'tokens' | 'stepTimeMs'>;

/** How far the ranks of a job's attempt are, by what they say. */
export interface StepsSoFar extends Gang {
  readonly incarnation: number;
  readonly step: number;
  readonly loss: number | undefined;
  /** Of one step. */
  readonly tokens: number | undefined;
  /** Moving average: one slow step (a save, a page fault) must not make the forecast jump. */
  readonly stepTimeMs: number | undefined;
  /** The first step that was heard of, and when, in milliseconds since 1970. */
  readonly first: { readonly step: number; readonly atMs: number } | undefined;
  readonly newestAtMs: number;
  /** Of all steps after the first, as far as they were told. */
  readonly inStepsMs: number;
}

/** Those of one incarnation of an epoch. */
type Ranks = Pick<StepsSoFar, 'jobUid' | 'epoch' | 'incarnation'>;

/** Whether `one` began after `other` of the same job. */
export function isLater(one: Omit<Ranks, 'jobUid'>, other: Omit<Ranks, 'jobUid'>): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.incarnation > other.incarnation);
}

type Entry = { -readonly [K in keyof StepsSoFar]: StepsSoFar[K] };

/** Weight of the newest step in the moving average of step times. */
const SMOOTHING = 0.1;

/** How far each job is, by what its launchers say, step for step. Only for display: nothing is decided by it. */
export class ProgressTracker {
  readonly #entries = new Map<string, Entry>();
  readonly #changed = new Set<string>();

  /** A step was finished; answers whether it is news. Steps of one incarnation never fall, and an earlier one has no say. */
  recordStep(gang: Ranks, reported: Step): boolean {
    const entry = this.#entryOf(gang);
    if (entry === undefined || reported.step < entry.step) return false;
    // Several pods report the same step; only one of them may know loss and tokens.
    entry.loss = reported.loss ?? (reported.step === entry.step ? entry.loss : undefined);
    entry.tokens = reported.tokens ?? entry.tokens;
    if (reported.step > entry.step) {
      this.#time(entry, reported);
      const average = entry.stepTimeMs ?? reported.stepTimeMs;
      entry.stepTimeMs = average + SMOOTHING * (reported.stepTimeMs - average);
    }
    entry.step = reported.step;
    this.#changed.add(gang.jobUid);
    return true;
  }

  /** The gang loaded a checkpoint of that step. */
  recordResumed(gang: Ranks, step: number): void {
    const entry = this.#entryOf(gang);
    if (entry === undefined || step <= entry.step) return;
    entry.step = step;
    this.#changed.add(gang.jobUid);
  }

  /** The jobs that are further than at the call before. */
  takeChanged(): readonly StepsSoFar[] {
    const changed = [...this.#changed].flatMap((jobUid) => this.#entries.get(jobUid) ?? []);
    this.#changed.clear();
    return changed.map((entry) => ({ ...entry }));
  }

  /** The job is gone or finished. */
  forget(jobUid: string): void {
    this.#entries.delete(jobUid);
    this.#changed.delete(jobUid);
  }

  /** A step that was not told took as long as the one that is. */
  #time(entry: Entry, { at, step, stepTimeMs }: Step): void {
    const atMs = Date.parse(at);
    if (entry.first === undefined) entry.first = { step, atMs };
    else entry.inStepsMs += (step - entry.step) * stepTimeMs;
    entry.newestAtMs = Math.max(entry.newestAtMs, atMs);
  }

  #entryOf(ranks: Ranks): Entry | undefined {
    const { jobUid, epoch, incarnation } = ranks;
    const known = this.#entries.get(jobUid);
    if (known !== undefined && isLater(known, ranks)) return undefined;
    if (known !== undefined && !isLater(ranks, known)) return known;
    const nothing = {
      step: 0,
      loss: undefined,
      tokens: undefined,
      stepTimeMs: undefined,
      first: undefined,
      newestAtMs: 0,
      inStepsMs: 0,
    };
    const entry: Entry = { jobUid, epoch, incarnation, ...nothing };
    this.#entries.set(jobUid, entry);
    return entry;
  }
}

/** What is shown of it, with a forecast when the number of steps and their pace are known; undefined before the first step. */
export function toProgress(
  { epoch, incarnation, step, loss, tokens, stepTimeMs, first, newestAtMs, inStepsMs }: StepsSoFar,
  totalSteps?: number,
): ObservedProgress | undefined {
  if (step === 0) return undefined;
  const hasPace = stepTimeMs !== undefined && stepTimeMs > 0;
  const left = totalSteps === undefined ? undefined : Math.max(0, totalSteps - step);
  return {
    epoch,
    ...(incarnation === 1 ? {} : { incarnation }),
    step,
    ...(loss === undefined ? {} : { loss }),
    ...(hasPace && tokens !== undefined ? { tokensPerSecond: round(tokens / (stepTimeMs / 1000)) } : {}),
    ...(hasPace && left !== undefined ? { etaSeconds: Math.round((left * stepTimeMs) / 1000) } : {}),
    ...(first === undefined || step <= first.step
      ? {}
      : { pace: { fromStep: first.step, elapsedMs: Math.max(0, newestAtMs - first.atMs), inStepsMs } }),
  };
}

/** Three significant digits are what a moving average is worth. */
function round(value: number): number {
  return Number(value.toPrecision(3));
}
