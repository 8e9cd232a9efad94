/** How long does a step of a job take, and what is known of its start? From the records in its status. */
import type { Attempt, TrainingJob } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';

/** Start of a gang that has no measured start: pods, images, preflight, rendezvous, first step. */
const USUAL_START_MS = 180_000;

/** Mean duration of a step until that time, in milliseconds; undefined: not measured. */
export function meanStepMs(
  { firstStep }: Pick<Attempt, 'firstStep'>,
  until: string,
  lastStep: number | undefined,
): number | undefined {
  const steps = (lastStep ?? 0) - (firstStep?.step ?? 0);
  const ms = Date.parse(until) - Date.parse(firstStep?.at ?? '');
  return firstStep === undefined || steps <= 0 || !(ms >= 0) ? undefined : Math.round(ms / steps);
}

/**
 * Milliseconds of a step with its share of the saves, as measured in the newest attempt that has measurements. If that attempt had another number
 * of GPUs, the time is converted as if each GPU did its share. undefined: nothing was measured.
 */
export function measuredStepMs({ status }: Pick<TrainingJob, 'status'>, gpus: number): number | undefined {
  const attempts = status?.attempts ?? [];
  for (const attempt of attempts.toReversed()) {
    const measured = measuredIn(attempt, attempt === attempts.at(-1) ? status?.progress : undefined);
    if (measured !== undefined) return (measured * worldSize(attempt.layout)) / gpus;
  }
  return undefined;
}

function measuredIn(
  attempt: Attempt,
  progress: { readonly step: number; readonly reportedAt: string } | undefined,
): number | undefined {
  const { pace } = attempt;
  if (pace !== undefined && pace.steps > 0) return (pace.inStepsMs + pace.betweenStepsMs) / pace.steps;
  const lastStepAt = attempt.lastStepAt ?? progress?.reportedAt;
  return lastStepAt === undefined ? undefined : meanStepMs(attempt, lastStepAt, attempt.lastStep ?? progress?.step);
}

/** How long the job takes from a placement to its first step: the median of its past starts, else three minutes. */
export function startDelayMs({ status }: Pick<TrainingJob, 'status'>): number {
  const delays = (status?.attempts ?? []).flatMap(({ startedAt, firstStep, incarnation = 1 }) => {
    const ms = Date.parse(firstStep?.at ?? '') - Date.parse(startedAt);
    return incarnation === 1 && ms >= 0 ? ms : [];
  });
  return delays.sort((one, other) => one - other)[Math.floor(delays.length / 2)] ?? USUAL_START_MS;
}

/** Stall of a save that was never measured. */
const USUAL_STALL_SECONDS = 30;

/** For how long a save stops training: the time between steps, for each save, in the newest attempt that measured it. */
export function stallSeconds({ status }: Pick<TrainingJob, 'status'>): number {
  const pace = status?.attempts?.findLast((attempt) => (attempt.pace?.saves ?? 0) > 0)?.pace;
  return pace === undefined ? USUAL_STALL_SECONDS : pace.betweenStepsMs / pace.saves / 1_000;
}

/** Fewer steps say little of the time of one. */
const LEAST_MEASURED_STEPS = 10;

/** The newest measured step time on exactly that many GPUs, in milliseconds; undefined: no attempt measured it over ten steps or more. */
export function stepMsOnSize({ status }: Pick<TrainingJob, 'status'>, gpus: number): number | undefined {
  const attempts = status?.attempts ?? [];
  for (const attempt of attempts.toReversed()) {
    if (worldSize(attempt.layout) !== gpus || stepsOf(attempt, status?.progress) < LEAST_MEASURED_STEPS) continue;
    const measured = measuredIn(attempt, attempt === attempts.at(-1) ? status?.progress : undefined);
    if (measured !== undefined && measured > 0) return measured;
  }
  return undefined;
}

function stepsOf({ pace, firstStep, lastStep }: Attempt, progress: { readonly step: number } | undefined): number {
  return pace?.steps ?? (lastStep ?? progress?.step ?? 0) - (firstStep?.step ?? 0);
}
