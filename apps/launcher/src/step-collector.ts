import type { StepReport } from '@coxswain/api-types';
import type { StepFact } from './engine-facts.ts';

/** Steps that may wait for a slow rank's line before they are told without it. */
const MAX_OPEN_STEPS = 4;

/** Joins the lines that the local ranks write for one step into one report. */
export class StepCollector {
  readonly #ranks: number;
  readonly #open = new Map<number, Map<number, StepFact>>();
  #newestDone = -1;
  #late = 0;

  constructor(ranks: number) {
    this.#ranks = ranks;
  }

  /** Lines that came for a step already told, or a second time. */
  get late(): number {
    return this.#late;
  }

  /** The steps that are now complete, in order; usually one or none. */
  push(rank: number, fact: StepFact): StepReport[] {
    const facts = this.#open.get(fact.step) ?? new Map<number, StepFact>();
    if (fact.step <= this.#newestDone || facts.has(rank)) {
      this.#late += 1;
      return [];
    }
    this.#open.set(fact.step, facts.set(rank, fact));
    if (facts.size === this.#ranks) return [this.#close(fact.step)];
    return this.#open.size > MAX_OPEN_STEPS ? [this.#close(Math.min(...this.#open.keys()))] : [];
  }

  /** Closes a step, and forgets earlier ones that never became complete. */
  #close(step: number): StepReport {
    const facts = this.#open.get(step) ?? new Map<number, StepFact>();
    for (const open of [...this.#open.keys()]) if (open <= step) this.#open.delete(open);
    this.#newestDone = step;
    const byRank = [...facts].sort(([one], [other]) => one - other);
    const first = (field: 'loss' | 'tokens' | 'learningRate' | 'gradNorm'): number | null =>
      byRank.map(([, fact]) => fact[field]).find((value) => value !== null) ?? null;
    return {
      step,
      loss: first('loss'),
      tokens: first('tokens'),
      learningRate: first('learningRate'),
      gradNorm: first('gradNorm'),
      ranks: byRank.map(([rank, fact]) => ({ rank, stepTimeMs: fact.stepTimeMs, timingsMs: fact.timingsMs })),
    };
  }
}
