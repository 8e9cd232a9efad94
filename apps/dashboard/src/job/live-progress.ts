import type { Job } from '@coxswain/api-types';
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

/** The job's own progress, which is written every 15 s, or what its newest step says when that is further. Undefined before any. */
export function liveProgress({ progress, spec, state }: Job, curve: Curve): LiveProgress | undefined {
  let point;
  for (point of curve.values());
  const totalSteps = progress?.totalSteps ?? spec.training?.steps ?? null;
  if (point === undefined || (progress !== null && progress.step >= point.step))
    return progress === null ? undefined : { ...progress, totalSteps };
  const { step, loss, tokensPerSecond, stepTimeMs } = point;
  const isRunning = totalSteps !== null && state === 'Running';
  const etaSeconds = isRunning ? Math.round(((totalSteps - step) * stepTimeMs) / SECOND_MS) : null;
  return { step, totalSteps, loss, tokensPerSecond, etaSeconds };
}
