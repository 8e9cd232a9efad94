import { JobCreate, stepsOf } from '@coxswain/api-types';

/** Milliseconds of the whole training at that step time; undefined: the job does not say how long it trains. */
export function plannedDuration(request: unknown, stepMs: number): number | undefined {
  const parsed = JobCreate.safeParse(request);
  const steps = parsed.success ? stepsOf(parsed.data.spec) : undefined;
  return steps === undefined ? undefined : steps * stepMs;
}
