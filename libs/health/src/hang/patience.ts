import type { RankWatermark } from '@coxswain/api-types';
import type { HealthSettings } from '../settings.ts';

type Waiting = RankWatermark['phase'];
const KEPT = 256;

/** The longest of late, and their 99th percentile, of durations that are told one by one. Holds the last 256. */
interface Recent {
  readonly values: Float64Array;
  told: number;
  /** Looked up for every wait of every rank, and only changed by what is told: undefined until it is asked for again. */
  p99: number | undefined;
  longest: number | undefined;
}

/** How long is usual? Learnt from what went well. */
export interface Patience {
  readonly learnStep: (step: number, stepTimeMs: number) => void;
  readonly learnOperation: (key: string, durationMs: number) => void;
  readonly learnPhase: (rank: number, phase: Waiting, durationMs: number) => void;
  /** After which a wait in that operation is named. */
  readonly nameAfterMs: (key: string) => number;
  /** After which it is acted on. Before any step is known, what a start may take. */
  readonly actAfterMs: () => number;
  /** How long a rank may be in a phase that is not training. */
  readonly phaseMs: (rank: number, phase: Waiting) => number;
  readonly longestStepMs: () => number;
  /** Between two steps, as they were told. */
  readonly learnGap: (gapMs: number) => void;
  /** How long all ranks may be alike, heard of and without a step, where they tell nothing of their phases: they may evaluate or save. */
  readonly unknownMs: () => number;
}

const MAX_OPERATIONS = 4096;

export function patienceOf({ hang }: HealthSettings): Patience {
  const steps = recent();
  const operations = new Map<string, Recent>();
  /** Of each rank the longest save: in many engines one rank saves for all, and the others are through at once. */
  const saves = new Map<number, number>();
  let firstStep: number | undefined;
  /** Of the warm-up: better than nothing until there is more. */
  let longestOfWarmUp = 0;
  let longestGapMs = 0;
  const longestStepMs = (): number => (steps.told === 0 ? longestOfWarmUp : longest(steps));
  return {
    longestStepMs,
    learnStep: (step, stepTimeMs) => {
      firstStep ??= step;
      if (step < firstStep) firstStep = step;
      if (step >= firstStep + hang.warmUpSteps) tell(steps, stepTimeMs);
      else longestOfWarmUp = Math.max(longestOfWarmUp, stepTimeMs);
    },
    learnOperation: (key, durationMs) => {
      let history = operations.get(key);
      if (history === undefined) {
        if (operations.size >= MAX_OPERATIONS) return;
        operations.set(key, (history = recent()));
      }
      tell(history, durationMs);
    },
    // How long compiling, evaluating and starting take is another matter each time.
    learnPhase: (rank, phase, durationMs) => {
      if (phase === 'saving') saves.set(rank, Math.max(saves.get(rank) ?? 0, durationMs));
    },
    nameAfterMs: (key) => {
      const history = operations.get(key);
      // A host may call all of a step at its beginning, and wait for its GPU as long as the step takes.
      return Math.max(history === undefined ? longestStepMs() : hang.nameFactor * p99(history), hang.nameLeastMs);
    },
    actAfterMs: () =>
      steps.told === 0
        ? Math.max(hang.patienceMs.starting, hang.actFactor * longestOfWarmUp)
        : Math.max(hang.actFactor * longestStepMs(), hang.actLeastMs),
    learnGap: (gapMs) => {
      longestGapMs = Math.max(longestGapMs, gapMs);
    },
    unknownMs: () =>
      steps.told + longestOfWarmUp === 0
        ? 2 * hang.patienceMs.starting
        : Math.max(hang.unknownLeastMs, hang.actFactor * longestStepMs(), 2 * longestGapMs),
    phaseMs: (rank, phase) => {
      if (phase === 'training' || phase === 'ended') return 0;
      const longest = phase === 'saving' ? saves.get(rank) : undefined;
      return longest === undefined ? hang.patienceMs[phase] : Math.max(hang.actFactor * longest, hang.actLeastMs);
    },
  };
}

function recent(): Recent {
  return { values: new Float64Array(KEPT), told: 0, p99: undefined, longest: undefined };
}

function tell(history: Recent, value: number): void {
  history.values[history.told % KEPT] = value;
  history.told += 1;
  history.p99 = undefined;
  history.longest = undefined;
}

function kept({ values, told }: Recent): Float64Array {
  return values.subarray(0, Math.min(told, KEPT));
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
