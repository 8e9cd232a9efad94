import type { RankWatermark } from '@coxswain/api-types';
import type { HealthSettings } from '../settings.ts';

type Waiting = RankWatermark['phase'];
const KEPT = 256;

/** The longest of the last 256 durations, and their 99th percentile. */
interface Recent {
  readonly values: Float64Array;
  count: number;
  /** Cached, because every wait of every rank reads them; undefined after a new duration. */
  p99: number | undefined;
  longest: number | undefined;
}

/** How long operations, steps and phases may take. Learnt from those that ended. */
export interface Patience {
  readonly learnStep: (step: number, stepTimeMs: number) => void;
  readonly learnOperation: (key: string, durationMs: number) => void;
  readonly learnPhase: (rank: number, phase: Waiting, durationMs: number) => void;
  /** Duration after which a wait in that operation is reported. */
  readonly nameAfterMs: (key: string) => number;
  /** Duration after which Coxswain acts on a wait. Before the first step, the time that a start may take. */
  readonly actAfterMs: () => number;
  /** How long a rank may be in a phase that is not training. */
  readonly phaseMs: (rank: number, phase: Waiting) => number;
  readonly longestStepMs: () => number;
  /** Time between the reports of two steps. */
  readonly learnGap: (gapMs: number) => void;
  /** How long all ranks may report the same step if they report no phase: they may evaluate or save. */
  readonly unknownMs: () => number;
  /** Memory that learnt durations take, estimated and never too low. */
  readonly bytes: () => number;
}

const MAX_OPERATIONS = 4096;
/** {@link KEPT} durations with their key. */
const OPERATION_BYTES = 2_560;

/** Limits that start from the settings and learn from what the records show. */
export function patienceOf({ hang }: HealthSettings): Patience {
  const steps = recent();
  const operations = new Map<string, Recent>();
  /** The longest save of each rank. In many engines one rank saves for all and the others finish at once. */
  const saves = new Map<number, number>();
  let firstStep: number | undefined;
  /** The longest step of the warm-up; used until a later step is known. */
  let longestOfWarmUp = 0;
  let longestGapMs = 0;
  const longestStepMs = (): number => (steps.count === 0 ? longestOfWarmUp : longest(steps));
  return {
    longestStepMs,
    learnStep: (step, stepTimeMs) => {
      firstStep ??= step;
      if (step < firstStep) firstStep = step;
      if (step >= firstStep + hang.warmUpSteps) add(steps, stepTimeMs);
      else longestOfWarmUp = Math.max(longestOfWarmUp, stepTimeMs);
    },
    learnOperation: (key, durationMs) => {
      let history = operations.get(key);
      if (history === undefined) {
        if (operations.size >= MAX_OPERATIONS) return;
        operations.set(key, (history = recent()));
      }
      add(history, durationMs);
    },
    // Compiling, evaluating and starting take a different time each time, so only saves are learnt.
    learnPhase: (rank, phase, durationMs) => {
      if (phase === 'saving') saves.set(rank, Math.max(saves.get(rank) ?? 0, durationMs));
    },
    nameAfterMs: (key) => {
      const history = operations.get(key);
      // A host may enqueue a whole step at its beginning, and then waits for its GPU as long as the step takes.
      return Math.max(history === undefined ? longestStepMs() : hang.nameFactor * p99(history), hang.nameLeastMs);
    },
    actAfterMs: () =>
      steps.count === 0
        ? Math.max(hang.patienceMs.starting, hang.actFactor * longestOfWarmUp)
        : Math.max(hang.actFactor * longestStepMs(), hang.actLeastMs),
    learnGap: (gapMs) => {
      longestGapMs = Math.max(longestGapMs, gapMs);
    },
    unknownMs: () =>
      steps.count + longestOfWarmUp === 0
        ? 2 * hang.patienceMs.starting
        : Math.max(hang.unknownLeastMs, hang.actFactor * longestStepMs(), 2 * longestGapMs),
    bytes: () => OPERATION_BYTES * operations.size,
    phaseMs: (rank, phase) => {
      if (phase === 'training' || phase === 'ended') return 0;
      const longest = phase === 'saving' ? saves.get(rank) : undefined;
      return longest === undefined ? hang.patienceMs[phase] : Math.max(hang.actFactor * longest, hang.actLeastMs);
    },
  };
}

function recent(): Recent {
  return { values: new Float64Array(KEPT), count: 0, p99: undefined, longest: undefined };
}

function add(history: Recent, value: number): void {
  history.values[history.count % KEPT] = value;
  history.count += 1;
  history.p99 = undefined;
  history.longest = undefined;
}

function kept({ values, count }: Recent): Float64Array {
  return values.subarray(0, Math.min(count, KEPT));
}

function longest(history: Recent): number {
  history.longest ??= Math.max(0, ...kept(history));
  return history.longest;
}

function p99(history: Recent): number {
  if (history.p99 === undefined) {
    const sorted = kept(history).toSorted();
    history.p99 = sorted[Math.ceil(0.99 * sorted.length) - 1] ?? 0;
  }
  return history.p99;
}
