/** How far have the ranks come at a step: which loss, and how many tokens since they began? */
import type { SavedProgress, StepReport } from '@coxswain/api-types';
import type { UnmarkedPeriod } from '../facts/engine-facts.ts';

/** Steps that are kept: a save is reported when it was verified, some minutes after its step. */
const MOST_STEPS = 4_096;
/** Engines count steps from 0 or from 1, and name saves by either. So the step after that of a save proves nothing. */
const PROVING_STEPS = 2;

interface KnownStep {
  readonly step: number;
  /** NaN: it was not finite. null: none was reported. */
  readonly loss: number | null;
  /** Since the ranks began; undefined: a report did not say. */
  readonly tokens: number | undefined;
  /** Of this step. Earlier steps without a report of their own count as many. */
  readonly tokensPerStep: number | null;
  /** When it was reported, in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/** Gathers the steps of the ranks that run. */
export class TrainingProgress {
  #fromStep = 0;
  #steps: KnownStep[] = [];
  #first: KnownStep | undefined;

  /** Other ranks start, from this step. */
  begin(fromStep: number): void {
    this.#fromStep = fromStep;
    this.#steps = [];
    this.#first = undefined;
  }

  note(report: Pick<StepReport, 'step' | 'loss' | 'tokens' | 'notFinite'>, atMs = Date.now()): void {
    const { step, loss, tokens, notFinite } = report;
    const last = this.#steps.at(-1) ?? { step: this.#fromStep, tokens: 0 };
    if (step <= last.step) return;
    const sum = tokens === null || last.tokens === undefined ? undefined : last.tokens + tokens * (step - last.step);
    const known = { step, loss: notFinite?.loss === undefined ? loss : NaN, tokens: sum, tokensPerStep: tokens, atMs };
    this.#first ??= known;
    this.#steps.push(known);
    if (this.#steps.length > MOST_STEPS) this.#steps = this.#steps.slice(-MOST_STEPS / 2);
  }

  /** From the report of this step until now. Undefined: the step was not reported. */
  periodSince(step: number, nowMs = Date.now()): UnmarkedPeriod | undefined {
    const known = this.#steps.findLast((one) => one.step === step);
    return known === undefined ? undefined : { firstMs: known.atMs, lastMs: nowMs };
  }

  /** At the end of this step, of which a save is. Undefined: nothing is known of it. */
  at(step: number, unmarked?: UnmarkedPeriod): SavedProgress | undefined {
    const after = this.#steps.findIndex((known) => known.step > step);
    const until = after === -1 ? this.#steps : this.#steps.slice(0, after);
    const { loss = null, step: lossStep } = until.findLast((known) => known.loss !== null) ?? {};
    // A loss from before it was not finite is not that of the save.
    const isKnown = loss !== null && Number.isFinite(loss);
    const tokens = this.#tokensAt(step, until.at(-1), this.#steps[after]);
    const duringWrite = this.#duringWrite(step, unmarked);
    if (!isKnown && tokens === undefined && duringWrite === undefined) return undefined;
    return {
      fromStep: this.#fromStep,
      ...(isKnown && { loss, lossStep }),
      ...(tokens === undefined ? {} : { tokens }),
      ...(duringWrite === undefined ? {} : { duringWrite }),
    };
  }

  /** Ranks that wait for a save complete no later step before its end marker is there. */
  #duringWrite(step: number, unmarked: UnmarkedPeriod | undefined): SavedProgress['duringWrite'] {
    if (unmarked === undefined) return undefined;
    const { firstMs, lastMs } = unmarked;
    const newest = this.#steps.findLast(({ atMs }) => atMs <= lastMs);
    if (newest === undefined || newest.step < step + PROVING_STEPS) return undefined;
    return { steps: newest.step - step, ms: Math.max(0, lastMs - firstMs) };
  }

  /** `last`: reported at or before it. `next`: after it. Steps without a report have as many tokens as the next one, or the last. */
  #tokensAt(step: number, last: KnownStep | undefined, next: KnownStep | undefined): number | undefined {
    const isFirst = last === undefined && next !== undefined && next === this.#first;
    const from = last ?? (isFirst ? { step: this.#fromStep, tokens: 0 } : undefined);
    const perStep = (next ?? last)?.tokensPerStep;
    if (from?.tokens === undefined || step < from.step) return undefined;
    if (step === from.step) return from.tokens;
    return perStep === undefined || perStep === null ? undefined : from.tokens + perStep * (step - from.step);
  }
}
