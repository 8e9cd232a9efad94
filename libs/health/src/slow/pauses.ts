/** Do ranks pause at different steps, each at regular intervals? A garbage collector without a schedule does. */
import type { HealthSettings } from '../settings.ts';
import type { RecordOf } from '../trace/records.ts';
import { median } from './robust.ts';
import { computeOf } from './step-window.ts';

/** Pauses of each rank. */
export interface PauseHistory {
  /** Adds a step; every step counts, because pauses are rare. */
  readonly note: (record: RecordOf<'step'>) => void;
  /** Sets the usual compute time of each rank, in milliseconds, and the spread of its steps as a share of it. */
  readonly know: (medianMs: Float64Array, spread: number) => void;
  readonly find: () => { readonly ranks: number; readonly everySteps: number; readonly pauseMs: number } | undefined;
}

/** Largest median deviation of intervals from the rank's usual interval, or from twice that if one was missed. Random intervals deviate by 0.3 or more. */
const EVEN = 0.15;
const LEAST_SHARE = 0.5;
const RAREST_STEPS = 5;
const LEAST_PAUSES = 3;
const KEPT_PAUSES = 8;
/** With few intervals some are regular by chance. */
const LEAST_INTERVALS = 24;
/** Pauses of a garbage collector have similar lengths: half of them are within this share of their median. Noise is not. */
const ALIKE = 0.25;
/** If a larger share of all ranks pauses in one step, the whole job pauses: a save or an evaluation. */
const TOGETHER = 0.25;
const STEPS_REMEMBERED = 256;

/** Begins without any pause. */
export function pauseHistory(ranks: number, { slow }: HealthSettings): PauseHistory {
  const usualMs = new Float64Array(ranks).fill(NaN);
  const count = new Uint32Array(ranks);
  const at = new Int32Array(ranks * KEPT_PAUSES);
  const lengthMs = new Float32Array(ranks * KEPT_PAUSES);
  const pausedIn = new Map<number, number>();
  let limit = Infinity;

  const pause = (rank: number, step: number, ms: number): void => {
    pausedIn.set(step, (pausedIn.get(step) ?? 0) + 1);
    if (pausedIn.size > STEPS_REMEMBERED) pausedIn.delete(pausedIn.keys().next().value ?? step);
    const place = rank * KEPT_PAUSES + ((count[rank] ?? 0) % KEPT_PAUSES);
    at[place] = step;
    lengthMs[place] = ms;
    count[rank] = (count[rank] ?? 0) + 1;
  };
  const pausesOf = (rank: number): { readonly steps: readonly number[]; readonly ms: readonly number[] } => {
    const kept = Math.min(count[rank] ?? 0, KEPT_PAUSES);
    const places = Array.from({ length: kept }, (_, index) => rank * KEPT_PAUSES + index)
      .filter((place) => (pausedIn.get(at[place] ?? 0) ?? 0) <= TOGETHER * ranks)
      .sort((a, b) => (at[a] ?? 0) - (at[b] ?? 0));
    return { steps: places.map((place) => at[place] ?? 0), ms: places.map((place) => lengthMs[place] ?? 0) };
  };
  return {
    note: (record) => {
      for (const timing of record.ranks) {
        const usual = usualMs[timing.rank] ?? NaN;
        const compute = computeOf(timing) ?? NaN;
        if (compute > usual * limit) pause(timing.rank, record.step, compute - usual);
      }
    },
    know: (medianMs, spread) => {
      usualMs.set(medianMs);
      limit = 1 + Math.max(slow.excess, slow.z * Math.max(slow.epsilon / 0.6745, spread));
    },
    find: () => {
      const regular: { readonly every: number; readonly ms: number }[] = [];
      const offs: number[] = [];
      for (let rank = 0; rank < ranks; rank += 1) {
        const own = pausesOf(rank);
        if (own.steps.length < LEAST_PAUSES) continue;
        const every = median(intervalsOf(own.steps));
        if (every < RAREST_STEPS) continue;
        offs.push(...offsOf(intervalsOf(own.steps), every));
        if (areAlike(own.ms)) regular.push({ every, ms: median(own.ms) });
      }
      if (regular.length < LEAST_SHARE * ranks || offs.length < LEAST_INTERVALS || median(offs) > EVEN)
        return undefined;
      return {
        ranks: regular.length,
        everySteps: Math.round(median(regular.map(({ every }) => every))),
        pauseMs: median(regular.map(({ ms }) => ms)),
      };
    },
  };
}

function intervalsOf(steps: readonly number[]): number[] {
  return steps.slice(1).map((step, index) => step - (steps[index] ?? 0));
}

/** Of an odd number of intervals one is the median itself, which is no evidence of regularity. */
function offsOf(intervals: readonly number[], every: number): number[] {
  const itself = intervals.length % 2 === 1 ? intervals.indexOf(every) : -1;
  return intervals.filter((_, index) => index !== itself).map((interval) => offEven(interval / every));
}

function offEven(ratio: number): number {
  return Math.min(Math.abs(ratio - 1), Math.abs(ratio - 2));
}

function areAlike(lengths: readonly number[]): boolean {
  const usual = median(lengths);
  return median(lengths.map((length) => Math.abs(length - usual))) <= ALIKE * usual;
}
