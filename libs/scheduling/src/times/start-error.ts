/** How far was a start from the one that was expected first? Pure. */
import type { TrainingJob } from '@coxswain/api-types';

/** The start of a job for which nodes were held, against the start that was expected when they were first held. */
export interface StartError {
  /** Positive: the job started later than expected. */
  readonly errorSeconds: number;
  /** The absolute error as a share of the expected wait; undefined: no wait was expected. */
  readonly share: number | undefined;
}

/** undefined: between these two versions the job did not start on held nodes, or its times cannot be read. */
export function startErrorBetween(before: TrainingJob, after: TrainingJob): StartError | undefined {
  const expected = before.status?.expectedStart;
  const attempt = after.status?.attempts?.at(-1);
  if (expected === undefined || attempt === undefined || attempt.epoch <= (before.status?.epoch ?? 0)) return undefined;
  const [sinceMs = NaN, firstMs = NaN, startMs = NaN] = [
    expected.promisedAt,
    expected.firstPromised,
    attempt.startedAt,
  ].map((at) => Date.parse(at));
  const errorSeconds = (startMs - firstMs) / 1_000;
  const waitSeconds = (firstMs - sinceMs) / 1_000;
  if (!Number.isFinite(errorSeconds) || !Number.isFinite(waitSeconds)) return undefined;
  return { errorSeconds, share: waitSeconds > 0 ? Math.abs(errorSeconds) / waitSeconds : undefined };
}
