/**
 * Detects that waves of passes repeat. Ranks that advance in waves form a max-plus linear system: adding a constant to all clocks adds it
 * to everything that follows. So once all clocks stand as they stood some waves ago, a constant later, those waves repeat for as long as
 * every rank goes on alternating, and whole periods can be skipped.
 *
 * Clocks are compared within 1e-12 of their value: skipping n periods changes a makespan by at most n times that share.
 */

/** Share of its value by which a time may differ and still be the same. */
export const SAME = 1e-12;

/** Compares clocks with those of an earlier wave, which it replaces at doubling distances (Brent): a period of any length is found. */
export class RepeatingWaves {
  /** Waves since the clocks that are compared with. */
  lag = 0;
  /** By how much every clock has moved on, where the last `repeats` was true. */
  shiftS = 0;
  private readonly remembered: Float64Array;
  private rememberedWave = -1;
  private patience = 1;

  /** @param remembered buffer as long as the clocks */
  constructor(remembered: Float64Array) {
    this.remembered = remembered;
  }

  /** Whether `clocksS` are the remembered ones moved by a constant. Waves must be given in ascending order. */
  repeats(wave: number, clocksS: Float64Array): boolean {
    if (this.rememberedWave < 0) {
      this.remember(wave, clocksS);
      return false;
    }
    this.lag = wave - this.rememberedWave;
    this.shiftS = (clocksS[0] as number) - (this.remembered[0] as number);
    for (let i = 1; i < this.remembered.length; i++) {
      const clockS = clocksS[i] as number;
      if (Math.abs(clockS - (this.remembered[i] as number) - this.shiftS) > SAME * clockS) return false;
    }
    return true;
  }

  /** Remembers these clocks instead where the old ones have been compared with for long enough. */
  moveOn(wave: number, clocksS: Float64Array): void {
    if (this.lag < this.patience) return;
    this.patience = 2 * this.lag;
    this.remember(wave, clocksS);
  }

  private remember(wave: number, clocksS: Float64Array): void {
    this.remembered.set(clocksS.subarray(0, this.remembered.length));
    this.rememberedWave = wave;
  }
}

/** A stretch of recorded times that a later wave still reads. */
export interface Stretch {
  readonly from: number;
  readonly length: number;
}

/** Whether recorded times are those of `lag` entries ago, `shiftS` later. */
export function stretchRepeats(timesS: Float64Array, { from, length }: Stretch, lag: number, shiftS: number): boolean {
  for (let i = from; i < from + length; i++) {
    const timeS = timesS[i] as number;
    if (Math.abs(timeS - (timesS[i - lag] as number) - shiftS) > SAME * timeS) return false;
  }
  return true;
}

/** Copies recorded times `lag` entries on, `shiftS` later; from the end, as source and target may overlap. */
export function copyStretch(timesS: Float64Array, { from, length }: Stretch, lag: number, shiftS: number): void {
  for (let i = from + length - 1; i >= from; i--) timesS[i + lag] = (timesS[i] as number) + shiftS;
}

/** Adds `shiftS` to all times. */
export function addToAll(timesS: Float64Array, shiftS: number): void {
  for (let i = 0; i < timesS.length; i++) timesS[i] = (timesS[i] as number) + shiftS;
}

/** The latest of the times. */
export function latest(timesS: Float64Array): number {
  let latestS = 0;
  for (let i = 0; i < timesS.length; i++) latestS = Math.max(latestS, timesS[i] as number);
  return latestS;
}
