/**
 * To which step does a printed line belong, if the program counts in its own way? Many loops count from 0, or in each epoch anew, or go on from a checkpoint of
 * theirs. Hooks count optimizer steps, and their numbers are those of the curve.
 */
import type { StepLine } from '../step-lines/printed-step.ts';

/** How long lines wait for the first report of a hook. Without one by then, the program has none, and its own numbers count. */
const ALONE_MS = 2_000;
const MOST_HELD = 1_000;
/** If lines are only so far off, the reports of some ranks may be ahead of a line: it is believed when the next line is as far off. */
const JITTER_STEPS = 2;

/** A line, and the rank that printed it. */
export interface PrintedLine {
  readonly rank: number;
  readonly line: StepLine;
}

/** Gives lines the numbers of the hooks. */
export class OwnCounts {
  #newest: number | undefined;
  #isAlone = false;
  #held: PrintedLine[] = [];
  #heldSinceMs = 0;
  #offset: number | undefined;
  #lastOff = 0;

  /** Other ranks start. */
  begin(): void {
    this.#newest = undefined;
    this.#isAlone = false;
    this.#held = [];
    this.#offset = undefined;
    this.#lastOff = 0;
  }

  /** A hook or the engine reported a step; returns the lines that waited for that. */
  hear(step: number): readonly PrintedLine[] {
    this.#newest = Math.max(this.#newest ?? 0, step);
    const held = this.#held;
    this.#held = [];
    // The newest line is the one that belongs to what was just reported.
    const last = held.at(-1);
    if (last !== undefined) this.#learn(last.line);
    return held.map((one) => this.#placed(one));
  }

  /** The program printed a line; returns those that can be placed now. */
  take(printed: PrintedLine, nowMs: number): readonly PrintedLine[] {
    if (this.#newest !== undefined || this.#isAlone) {
      this.#learn(printed.line);
      return [this.#placed(printed)];
    }
    if (this.#held.length === 0) this.#heldSinceMs = nowMs;
    this.#held.push(printed);
    return nowMs - this.#heldSinceMs < ALONE_MS && this.#held.length < MOST_HELD ? [] : this.flush();
  }

  /** Nothing more is waited for. */
  flush(): readonly PrintedLine[] {
    this.#isAlone = true;
    const held = this.#held;
    this.#held = [];
    return held;
  }

  #learn({ step }: StepLine): void {
    if (step === null || this.#newest === undefined) return;
    // A line may come just before the report of its step.
    const off = step + (this.#offset ?? 0) === this.#newest + 1 ? 0 : this.#newest - step - (this.#offset ?? 0);
    const isCertain = this.#offset === undefined || Math.abs(off) > JITTER_STEPS || off === this.#lastOff;
    if (isCertain) this.#offset = (this.#offset ?? 0) + off;
    this.#lastOff = isCertain ? 0 : off;
  }

  #placed({ rank, line }: PrintedLine): PrintedLine {
    if (line.step === null) return { rank, line };
    const step = line.step + (this.#offset ?? 0);
    return { rank, line: { ...line, step: step < 0 ? null : step } };
  }
}
