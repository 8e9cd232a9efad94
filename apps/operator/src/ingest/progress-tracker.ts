import { paceAfter, type StepPace, type StepReport } from '@coxswain/api-types';
import type { ObservedProgress } from '@coxswain/lifecycle';
import type { Gang } from './rendezvous.ts';
import type { NewStepFrame } from './series-ring.ts';

/** The fields of a step that progress needs; `stepTimeMs` is that of the slowest rank. */
type Step = Pick<NewStepFrame, 'at' | 'step' | 'loss' | 'tokens' | 'stepTimeMs'> & Pick<StepReport, 'notFinite'>;

/** Progress of a job's attempt as its ranks reported it. */
export interface StepsSoFar extends Gang {
  readonly incarnation: number;
  readonly step: number;
  readonly loss: number | undefined;
  /** Tokens of one step. */
  readonly tokens: number | undefined;
  /** Moving average, so that one slow step (a save, a page fault) does not make the forecast jump. */
  readonly pace: StepPace | undefined;
  /** The first reported step and its time in milliseconds since 1970. */
  readonly first: { readonly step: number; readonly atMs: number } | undefined;
  readonly newestAtMs: number;
  /** Total time of all steps after the first, as far as they were reported. */
  readonly inStepsMs: number;
}

/** The ranks of one incarnation. */
type Ranks = Pick<StepsSoFar, 'jobUid' | 'epoch' | 'incarnation'>;

/** Whether `one` began after `other`, both of the same job. */
export function isLater(one: Omit<Ranks, 'jobUid'>, other: Omit<Ranks, 'jobUid'>): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.incarnation > other.incarnation);
}

type Entry = { -readonly [K in keyof StepsSoFar]: StepsSoFar[K] };

/** Progress of each job by the steps that its launchers report. For display only; no decision uses it. */
export class ProgressTracker {
  readonly #entries = new Map<string, Entry>();
  readonly #changed = new Set<string>();

  /** Records a finished step. Returns whether it is news: steps of an incarnation never decrease, and earlier incarnations are ignored. */
  recordStep(gang: Ranks, reported: Step): boolean {
    const entry = this.#entryOf(gang);
    if (entry === undefined || reported.step < entry.step) return false;
    // Several pods report the same step, and perhaps only one of them knows loss and tokens. Many programs print the loss of every tenth step.
    entry.loss = reported.loss ?? (reported.notFinite?.loss === undefined ? entry.loss : undefined);
    entry.tokens = reported.tokens ?? entry.tokens;
    if (reported.step > entry.step) {
      this.#time(entry, reported);
      entry.pace = paceAfter(entry.pace, reported.stepTimeMs);
    }
    entry.step = reported.step;
    this.#changed.add(gang.jobUid);
    return true;
  }

  /** Records that the gang loaded a checkpoint of that step. */
  recordResumed(gang: Ranks, step: number): void {
    const entry = this.#entryOf(gang);
    if (entry === undefined || step <= entry.step) return;
    entry.step = step;
    this.#changed.add(gang.jobUid);
  }

  /** The jobs with new steps since the previous call. */
  takeChanged(): readonly StepsSoFar[] {
    const changed = [...this.#changed].flatMap((jobUid) => this.#entries.get(jobUid) ?? []);
    this.#changed.clear();
    return changed.map((entry) => ({ ...entry }));
  }

  /** Drops the state of an attempt that is over. */
  end(jobUid: string, epoch: number): void {
    const entry = this.#entries.get(jobUid);
    if (entry !== undefined && entry.epoch <= epoch) this.forget(jobUid);
  }

  /** Jobs with state; for tests of memory. */
  get size(): number {
    return this.#entries.size;
  }

  /** Drops the state of a deleted or finished job. */
  forget(jobUid: string): void {
    this.#entries.delete(jobUid);
    this.#changed.delete(jobUid);
  }

  /** Steps without a report count as long as the reported one. */
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
      pace: undefined,
      first: undefined,
      newestAtMs: 0,
      inStepsMs: 0,
    };
    const entry: Entry = { jobUid, epoch, incarnation, ...nothing };
    this.#entries.set(jobUid, entry);
    return entry;
  }
}

/** Significant digits of what the status shows. Stored steps keep all of them. */
const LOSS_DIGITS = 5;
const RATE_DIGITS = 3;

/** Progress for display, with a forecast if the number of steps and their pace are known; undefined before the first step. */
export function toProgress(
  { epoch, incarnation, step, loss, tokens, pace, first, newestAtMs, inStepsMs }: StepsSoFar,
  totalSteps?: number,
): ObservedProgress | undefined {
  if (step === 0) return undefined;
  const stepTimeMs = pace?.stepMs ?? 0;
  const hasPace = stepTimeMs > 0;
  const left = totalSteps === undefined ? undefined : Math.max(0, totalSteps - step);
  return {
    epoch,
    ...(incarnation === 1 ? {} : { incarnation }),
    step,
    ...(first === undefined ? {} : { first, stepAtMs: newestAtMs }),
    ...(loss === undefined ? {} : { loss: round(loss, LOSS_DIGITS) }),
    ...(hasPace && tokens !== undefined ? { tokensPerSecond: round(tokens / (stepTimeMs / 1000), RATE_DIGITS) } : {}),
    ...(hasPace && left !== undefined ? { etaSeconds: Math.round((left * stepTimeMs) / 1000) } : {}),
    ...(first === undefined || step <= first.step
      ? {}
      : { pace: { fromStep: first.step, elapsedMs: Math.max(0, newestAtMs - first.atMs), inStepsMs } }),
  };
}

/** Rounds to that many significant digits. */
function round(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}
