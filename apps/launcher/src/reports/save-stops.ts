/** How long did ranks stand still for each save? */
import { MAX_SAVE_STOPS, type SaveStop } from '@coxswain/api-types';

/** Steps that are kept to compare with. */
const MOST_STEPS = 64;
/** Fewer intervals without a save show no usual pace. */
const LEAST_INTERVALS = 3;
/** Engines count steps from 0 or from 1, and name saves by either: the save of step 20 follows step 20 or 21 as it is reported. */
const STEPS_AFTER_NAME = 1;

interface Step {
  readonly step: number;
  readonly atMs: number;
}

/** Compares the step after each save with steps without one. Works for any engine whose steps are reported, and costs it nothing. */
export class SaveStops {
  #steps: Step[] = [];
  #saves: number[] = [];
  #measured: SaveStop[] = [];

  /** The newest saves that a later step followed, oldest first. */
  get measured(): readonly SaveStop[] {
    return this.#measured;
  }

  /** Other ranks start. */
  begin(): void {
    this.#steps = [];
    this.#saves = [];
    this.#measured = [];
  }

  /** A save of this step is complete. Returns whether a save was measured with it. */
  noteSave(step: number): boolean {
    if (this.#saves.includes(step)) return false;
    this.#saves = [...this.#saves, step].slice(-MAX_SAVE_STOPS);
    return this.#measure();
  }

  /** A step is complete. Returns whether a save was measured with it. */
  noteStep(step: number, atMs: number): boolean {
    if (step <= (this.#steps.at(-1)?.step ?? -1)) return false;
    this.#steps = [...this.#steps, { step, atMs }].slice(-MOST_STEPS);
    return this.#measure();
  }

  #measure(): boolean {
    const due = this.#saves.filter((save) => !this.#measured.some(({ step }) => step === save));
    if (due.length === 0) return false;
    const usual = median(this.#intervals().flatMap(({ after, ms }) => (this.#isAfterSave(after) ? [] : [ms])));
    if (usual === undefined) return false;
    const found = due.flatMap((step) => {
      const ms = this.#longestAfter(step);
      return ms === undefined ? [] : [{ step, ms: Math.round(Math.max(0, ms - usual)) }];
    });
    this.#measured = [...this.#measured, ...found].slice(-MAX_SAVE_STOPS);
    return found.length > 0;
  }

  /** Time of each step that directly followed the one reported before it. */
  #intervals(): readonly { readonly after: number; readonly ms: number }[] {
    return this.#steps.flatMap(({ step, atMs }, index) => {
      const before = this.#steps[index - 1];
      return before?.step === step - 1 ? [{ after: before.step, ms: atMs - before.atMs }] : [];
    });
  }

  #isAfterSave(step: number): boolean {
    return this.#saves.some((save) => step >= save && step <= save + STEPS_AFTER_NAME);
  }

  /** Undefined until both steps that may have waited for the save are known. */
  #longestAfter(save: number): number | undefined {
    const waited = this.#intervals().filter(({ after }) => after >= save && after <= save + STEPS_AFTER_NAME);
    return waited.length <= STEPS_AFTER_NAME ? undefined : Math.max(...waited.map(({ ms }) => ms));
  }
}

function median(values: readonly number[]): number | undefined {
  if (values.length < LEAST_INTERVALS) return undefined;
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
}
