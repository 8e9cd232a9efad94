/** When were saves found without what marks their end? Shows whether ranks train while a save is being written. */
import type { UnmarkedPeriod } from '../facts/engine-facts.ts';

/** Notes saves without their end marker, scan after scan. */
export class UnmarkedSaves {
  readonly #periods = new Map<string, UnmarkedPeriod>();

  /** A scan that began at `atMs` did not find the marker of the save in this directory. */
  note(directory: string, atMs: number): void {
    this.#periods.set(directory, { firstMs: this.#periods.get(directory)?.firstMs ?? atMs, lastMs: atMs });
  }

  forget(directory: string): void {
    this.#periods.delete(directory);
  }

  /** Undefined: no scan found the save without its marker. */
  of(directory: string): UnmarkedPeriod | undefined {
    return this.#periods.get(directory);
  }
}
