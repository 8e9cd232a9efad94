/** How many steps does the next gang of a job train between two saves, where the job leaves it to us? */
import type { Attempt, EffectiveSpec } from '@coxswain/api-types';
import { bestSaveIntervalMs } from '@coxswain/checkpoint';
import { worldSize } from '@coxswain/layout';
import { formatDuration } from '@coxswain/units';
import type { JobRecord } from '../record/job-record.ts';

/** For the Placement, and for people. */
export interface SaveInterval {
  readonly everySteps: number;
  /** Where it comes from, in a sentence. */
  readonly says: string;
}

/**
 * How long a GPU trains until it interrupts its job, in milliseconds: 419 unexpected interruptions of 16,384 GPUs in 54 days ("The Llama 3 Herd of Models", arXiv 2407.21783, 3.3.4).
 * It counts as one failure that was seen, so that a job's own history outweighs it soon.
 */
const GPU_MTTF_MS = (16_384 * 54 * 86_400_000) / 419;

/** Between two saves: the curve is flat, and beyond an hour a person who waits for a lost node loses more than saves would have cost. */
const BOUNDS_MS = { least: 30_000, most: 3_600_000 } as const;

/** Older ones tell little of today; and status forgets attempts, while the answer for an epoch has to stay what it was. */
const MOST_ATTEMPTS = 10;

/** Of that epoch: the same while it lasts. undefined: the job says by itself after how many steps it saves, or does not save. */
export function saveInterval(record: JobRecord, spec: EffectiveSpec, epoch: number): SaveInterval | undefined {
  const { checkpoint, layout } = spec;
  if (checkpoint?.interval !== 'Auto') return undefined;
  const attempts = record.attempts.filter((attempt) => attempt.epoch < epoch).slice(-MOST_ATTEMPTS);
  const gpus = worldSize(layout);
  const measured = attempts.findLast(isMeasured);
  if (measured === undefined) {
    const says = `Saves every ${checkpoint.everySteps} steps, as checkpoint.everySteps says: none has been measured yet.`;
    return { everySteps: checkpoint.everySteps, says };
  }
  const { steps, inStepsMs, betweenStepsMs, saves } = measured.pace;
  // The global batch stays, so fewer GPUs take longer for a step.
  const stepMs = (inStepsMs / steps) * (worldSize(measured.layout) / gpus);
  const stallMs = betweenStepsMs / saves;
  const { meanTimeToFailureMs, seen } = failureRate(attempts, gpus);
  const bestMs = bestSaveIntervalMs({ stallMs: Math.max(1, stallMs), meanTimeToFailureMs });
  const boundedMs = Math.min(Math.max(bestMs, BOUNDS_MS.least), BOUNDS_MS.most);
  const everySteps = Math.max(1, Math.round(boundedMs / Math.max(1, stepMs)));
  const bound = boundedMs === bestMs ? '' : `, which is the ${boundedMs > bestMs ? 'least' : 'most'}`;
  return {
    everySteps,
    says:
      `Saves every ${everySteps} steps, about ${formatDuration(everySteps * stepMs)}${bound}: a save held training up for ${formatDuration(stallMs)} (${saves} measured), ` +
      `and a failure is expected every ${formatDuration(meanTimeToFailureMs)} (${seen}).`,
  };
}

type Measured = Attempt & { readonly pace: NonNullable<Attempt['pace']> };

function isMeasured(attempt: Attempt): attempt is Measured {
  const { pace } = attempt;
  return pace !== undefined && pace.saves > 0 && pace.steps > 0;
}

/** Of the job as a whole, by what its attempts have lived through beside the published rate. Ends that somebody asked for are none of its failures. */
function failureRate(
  attempts: readonly Attempt[],
  gpus: number,
): { readonly meanTimeToFailureMs: number; readonly seen: string } {
  const gpuMs = attempts.reduce((sum, attempt) => sum + ranMs(attempt) * worldSize(attempt.layout), 0);
  const failures = attempts.reduce(
    (sum, { outcome, incarnations = [] }) => sum + incarnations.length + (outcome === 'Failed' ? 1 : 0),
    0,
  );
  const meanTimeToFailureMs = (gpuMs + GPU_MTTF_MS) / (failures + 1) / gpus;
  const times = failures === 1 ? '1 of its own failures' : `${failures} of its own failures`;
  return { meanTimeToFailureMs, seen: `${times} beside the rate published for Llama 3` };
}

function ranMs({ runningAt, incarnations = [], lastStepAt }: Attempt): number {
  const begun = Date.parse(incarnations[0]?.runningAt ?? runningAt ?? '');
  const ms = Date.parse(lastStepAt ?? '') - begun;
  return ms > 0 ? ms : 0;
}
