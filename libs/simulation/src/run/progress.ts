/** How far has training come, and what of it is saved? In closed form between two events: nothing is stepped through. */
import { type LossBudget, NOTHING_SPENT } from './loss-budget.ts';

/** How often a run saves, and for how many milliseconds each save stops training. */
export interface SavePolicy {
  /** Training between two saves, in milliseconds. */
  readonly intervalMs: number;
  readonly stallMs: number;
}

/** Of a run of ranks that train: cycles of an interval and the stall of a save, in which what was trained counts as saved when the stall is over. */
export class Progress {
  readonly #policy: SavePolicy;
  /** Into the cycle under way, in milliseconds of wall time. */
  #cycleMs = 0;
  /** Milliseconds of training at full speed that count. */
  trainedMs = 0;
  savedMs = 0;

  constructor(policy: SavePolicy) {
    this.#policy = policy;
  }

  /** The ranks train for `wallMs`, `slowdown` times as slowly as they could. Answers with where that time went. */
  train(wallMs: number, slowdown: number): LossBudget {
    const { intervalMs, stallMs } = this.#policy;
    const cycle = intervalMs + stallMs;
    const end = this.#cycleMs + wallMs;
    const cycles = Math.floor(end / cycle);
    const intoLast = end - cycles * cycle;
    const computedBy = (into: number): number => Math.min(into, intervalMs);
    const computedMs = cycles * intervalMs + computedBy(intoLast) - computedBy(this.#cycleMs);
    const productive = computedMs / slowdown;
    const unfinishedMs = computedBy(intoLast) / slowdown;
    this.trainedMs += productive;
    if (cycles > 0) this.savedMs = Math.max(this.savedMs, this.trainedMs - unfinishedMs);
    this.#cycleMs = intoLast;
    return {
      ...NOTHING_SPENT,
      productive,
      straggler: computedMs - productive,
      checkpointStall: wallMs - computedMs,
    };
  }

  /** Everything that was trained is saved. */
  save(): void {
    this.savedMs = this.trainedMs;
  }

  /** Ranks begin at what was saved then; answers with how much was trained for nothing. */
  resumeAt(savedMs: number): number {
    const lostMs = Math.max(0, this.trainedMs - savedMs);
    this.trainedMs -= lostMs;
    this.savedMs = Math.min(this.savedMs, this.trainedMs);
    this.#cycleMs = 0;
    return lostMs;
  }
}
