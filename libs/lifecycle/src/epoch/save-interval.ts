/** How many steps does a gang train between two saves, if the job leaves it to Coxswain? */
import type { Attempt, EffectiveSpec } from '@coxswain/api-types';
import { bestSaveIntervalMs } from '@coxswain/checkpoint';
import { msPerSave, saveCostOf, totalSaveCost } from '@coxswain/goodput';
import { worldSize } from '@coxswain/layout';
import { formatDuration } from '@coxswain/units';
import type { JobRecord } from '../record/job-record.ts';

/** The save interval for the Placement, and its explanation for users. */
export interface SaveInterval {
  readonly everySteps: number;
  /** A sentence on how it was chosen. */
  readonly says: string;
}

/**
 * Mean time between interruptions per GPU, in milliseconds: 419 unexpected interruptions of 16,384 GPUs in 54 days ("The Llama 3 Herd of
 * Models", arXiv 2407.21783, 3.3.4). It counts as one observed failure, so a job's own history soon outweighs it.
 */
const GPU_MTTF_MS = (16_384 * 54 * 86_400_000) / 419;

/** Bounds of the time between two saves. The optimum is flat, and beyond an hour a lost node costs users more than saves do. */
const BOUNDS_MS = { least: 30_000, most: 3_600_000 } as const;

/** Older attempts say little about today. Status also drops attempts, and an epoch's interval must stay constant. */
const MAX_ATTEMPTS = 10;

/** The interval that costs least, and the measurements that it follows from. */
export interface BestSaves {
  readonly everySteps: number;
  readonly stepMs: number;
  /** How long a save stopped the ranks, over so many `saves`. */
  readonly stallMs: number;
  readonly saves: number;
  readonly meanTimeToFailureMs: number;
  /** Of the job itself; the published rate counts as one more. */
  readonly failures: number;
  /** Which bound of the time between two saves holds; undefined: none. */
  readonly bound: 'least' | 'most' | undefined;
}

/** The best interval on so many GPUs, from the newest attempts. undefined: no save was measured. */
export function bestSaves(all: readonly Attempt[], gpus: number): BestSaves | undefined {
  const attempts = all.slice(-MAX_ATTEMPTS);
  const measured = attempts.findLast(isMeasured);
  if (measured === undefined) return undefined;
  const { steps, inStepsMs } = measured.pace;
  // The global batch is constant, so a step takes longer on fewer GPUs.
  const stepMs = (inStepsMs / steps) * (worldSize(measured.layout) / gpus);
  const cost = totalSaveCost(attempts.map(saveCostOf));
  const stallMs = msPerSave(cost) ?? 0;
  const rate = failureRate(attempts, gpus);
  const bestMs = bestSaveIntervalMs({
    stallMs: Math.max(1, stallMs),
    meanTimeToFailureMs: rate.meanTimeToFailureMs,
  });
  const boundedMs = Math.min(Math.max(bestMs, BOUNDS_MS.least), BOUNDS_MS.most);
  const everySteps = Math.max(1, Math.round(boundedMs / Math.max(1, stepMs)));
  const exceeded = boundedMs > bestMs ? 'least' : 'most';
  return {
    everySteps,
    stepMs,
    stallMs,
    saves: cost.saves,
    ...rate,
    bound: boundedMs === bestMs ? undefined : exceeded,
  };
}

/** The save interval of that epoch, constant while it lasts. undefined: the job states its interval, or does not save. */
export function saveInterval(record: JobRecord, spec: EffectiveSpec, epoch: number): SaveInterval | undefined {
  const { checkpoint, layout } = spec;
  if (checkpoint?.interval !== 'Auto') return undefined;
  const attempts = record.attempts.filter((attempt) => attempt.epoch < epoch);
  const best = bestSaves(attempts, worldSize(layout));
  if (best === undefined) {
    const says = `Saves every ${checkpoint.everySteps} steps, as checkpoint.everySteps states: none has been measured yet.`;
    return { everySteps: checkpoint.everySteps, says };
  }
  const { everySteps, stepMs, stallMs, saves, meanTimeToFailureMs, failures } = best;
  const bound = best.bound === undefined ? '' : `, which is the ${best.bound}`;
  const seen = `${failures === 1 ? '1 of its own failures' : `${failures} of its own failures`} beside the rate published for Llama 3`;
  return {
    everySteps,
    says:
      `Saves every ${everySteps} steps, about ${formatDuration(everySteps * stepMs)}${bound}: a save stalled training for ${formatDuration(stallMs)} (${saves} measured), ` +
      `and a failure is expected every ${formatDuration(meanTimeToFailureMs)} (${seen}).`,
  };
}

type Measured = Attempt & { readonly pace: NonNullable<Attempt['pace']> };

function isMeasured(attempt: Attempt): attempt is Measured {
  const { pace } = attempt;
  return pace !== undefined && pace.saves > 0 && pace.steps > 0;
}

/** Failure rate of the whole job, from its attempts and the published rate. Requested ends do not count as failures. */
function failureRate(attempts: readonly Attempt[], gpus: number): Pick<BestSaves, 'meanTimeToFailureMs' | 'failures'> {
  const gpuMs = attempts.reduce((sum, attempt) => sum + ranMs(attempt) * worldSize(attempt.layout), 0);
  const failures = attempts.reduce(
    (sum, { outcome, incarnations = [] }) => sum + incarnations.length + (outcome === 'Failed' ? 1 : 0),
    0,
  );
  const meanTimeToFailureMs = (gpuMs + GPU_MTTF_MS) / (failures + 1) / gpus;
  return { meanTimeToFailureMs, failures };
}

function ranMs({ runningAt, incarnations = [], lastStepAt }: Attempt): number {
  const begun = Date.parse(incarnations[0]?.runningAt ?? runningAt ?? '');
  const ms = Date.parse(lastStepAt ?? '') - begun;
  return ms > 0 ? ms : 0;
}
