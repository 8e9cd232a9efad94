import { type Job, paceAfter, type StepPace, type StepPoint, stepsOf } from '@coxswain/api-types';
import { SECOND_MS } from '@coxswain/units';
import type { Curve } from './curve.ts';

/** How far a job is: every figure is null when it is not known. */
export interface LiveProgress {
  readonly step: number;
  readonly totalSteps: number | null;
  readonly loss: number | null;
  readonly tokensPerSecond: number | null;
  readonly etaSeconds: number | null;
}

/**
 * The job's own progress, which is written every 15 s, or what its newest steps say when they are further. Undefined before any. Ranks
 * report apart, so the newest step may not have its loss yet: then the newest that has one counts.
 */
export function liveProgress({ progress, spec, state }: Job, curve: Curve): LiveProgress | undefined {
  const totalSteps = progress?.totalSteps ?? stepsOf(spec) ?? null;
  let newest: StepPoint | undefined;
  let pace: StepPace | undefined;
  let loss: number | null = null;
  let tokensPerSecond: number | null = null;
  for (const point of curve.values()) {
    pace = paceAfter(point.epoch === newest?.epoch ? pace : undefined, point.stepTimeMs);
    newest = point;
    loss = point.loss ?? loss;
    tokensPerSecond = point.tokensPerSecond ?? tokensPerSecond;
  }
  // Nothing is left of a job that stands still: what was reported before it stopped does not hold.
  const isRunning = state === 'Running';
  if (newest === undefined || (progress !== null && progress.step >= newest.step))
    return progress === null
      ? undefined
      : {
          ...progress,
          loss: progress.loss ?? loss,
          totalSteps,
          etaSeconds: isRunning ? progress.etaSeconds : null,
        };
  const etaSeconds =
    isRunning && totalSteps !== null
      ? ((totalSteps - newest.step) * (pace?.stepMs ?? newest.stepTimeMs)) / SECOND_MS
      : null;
  return { step: newest.step, totalSteps, loss, tokensPerSecond, etaSeconds };
}
