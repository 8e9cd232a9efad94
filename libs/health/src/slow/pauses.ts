/** Do ranks pause one after the other, each at even intervals? So does a garbage collector that nobody told when to run. */
import type { HealthSettings } from '../settings.ts';
import { KEPT_STEPS, type StepWindow } from './step-window.ts';

export interface PauseHistory {
  /** Looks at the window's steps, oldest first. */
  readonly take: (window: StepWindow, medianMs: Float64Array) => void;
  readonly find: () => { readonly ranks: number; readonly everySteps: number; readonly pauseMs: number } | undefined;
}

/** Two intervals are one and the same, or a multiple of it where a pause was missed, if they are so close. */
const EVEN = 0.15;
const LEAST_SHARE = 0.5;
const RAREST_STEPS = 5;

export function pauseHistory(ranks: number, { slow }: HealthSettings): PauseHistory {
  const lastAt = new Int32Array(ranks).fill(-1);
  const interval = new Float64Array(ranks);
  const uneven = new Uint8Array(ranks);
  const lengthMs = new Float64Array(ranks);
  const pause = (rank: number, step: number, ms: number): void => {
    const since = step - (lastAt[rank] ?? -1);
    const known = interval[rank] ?? 0;
    if ((lastAt[rank] ?? -1) >= 0) {
      if (known === 0) interval[rank] = since;
      else if (Math.abs(since / known - Math.max(1, Math.round(since / known))) > EVEN) uneven[rank] = 1;
    }
    lastAt[rank] = step;
    lengthMs[rank] = ms;
  };
  return {
    take: (window, medianMs) => {
      const places = [...window.stepAt.keys()].filter((place) => (window.stepAt[place] ?? -1) >= 0);
      places.sort((a, b) => (window.stepAt[a] ?? 0) - (window.stepAt[b] ?? 0));
      for (let rank = 0; rank < ranks; rank += 1) {
        const usual = medianMs[rank] ?? NaN;
        for (const place of places) {
          const compute = window.computeMs[rank * KEPT_STEPS + place] ?? NaN;
          // Against the rank itself: five times the spread that is believed of anybody, and the size of effect that counts.
          const limit = usual * (1 + Math.max(slow.excess, (slow.z * slow.epsilon) / 0.6745));
          if (compute > limit) pause(rank, window.stepAt[place] ?? 0, compute - usual);
        }
      }
    },
    find: () => {
      const paused: number[] = [];
      for (let rank = 0; rank < ranks; rank += 1) {
        if (uneven[rank] === 0 && (interval[rank] ?? 0) >= RAREST_STEPS) paused.push(rank);
      }
      if (paused.length < LEAST_SHARE * ranks) return undefined;
      const middle = (values: Float64Array): number =>
        paused.map((rank) => values[rank] ?? 0).sort((a, b) => a - b)[paused.length >> 1] ?? 0;
      return { ranks: paused.length, everySteps: middle(interval), pauseMs: middle(lengthMs) };
    },
  };
}
