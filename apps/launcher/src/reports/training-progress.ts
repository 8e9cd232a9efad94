/** How far have the ranks come at a step: which loss, and how many tokens since they began? */
import type { SavedProgress, StepReport } from '@coxswain/api-types';

/** Steps that are kept: a save is reported when it was verified, some minutes after its step. */
const MOST_STEPS = 4_096;

interface KnownStep {
  readonly step: number;
  /** NaN: it was not finite. null: none was reported. */
  readonly loss: number | null;
  /** Since the ranks began; undefined: a report did not say. */
  readonly tokens: number | undefined;
  /** Of this step. Earlier steps without a report of their own count as many. */
  readonly tokensPerStep: number | null;
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

  note({ step, loss, tokens, notFinite }: Pick<StepReport, 'step' | 'loss' | 'tokens' | 'notFinite'>): void {
    const last = this.#steps.at(-1) ?? { step: this.#fromStep, tokens: 0 };
    if (step <= last.step) return;
    const sum = tokens === null || last.tokens === undefined ? undefined : last.tokens + tokens * (step - last.step);
    const known = { step, loss: notFinite?.loss === undefined ? loss : NaN, tokens: sum, tokensPerStep: tokens };
    this.#first ??= known;
    this.#steps.push(known);
    if (this.#steps.length > MOST_STEPS) this.#steps = this.#steps.slice(-MOST_STEPS / 2);
  }

  /** At the end of this step. Undefined: nothing is known of it. */
  at(step: number): SavedProgress | undefined {
    const after = this.#steps.findIndex((known) => known.step > step);
    const until = after === -1 ? this.#steps : this.#steps.slice(0, after);
    const { loss = null, step: lossStep } = until.findLast((known) => known.loss !== null) ?? {};
    // A loss from before it was not finite is not that of the save.
    const isKnown = loss !== null && Number.isFinite(loss);
    const tokens = this.#tokensAt(step, until.at(-1), this.#steps[after]);
    if (!isKnown && tokens === undefined) return undefined;
    return {
      fromStep: this.#fromStep,
      ...(isKnown && { loss, lossStep }),
      ...(tokens === undefined ? {} : { tokens }),
    };
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
