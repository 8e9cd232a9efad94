/** For how long has a run of a job held GPUs? Pure: the limit of its time and its predicted end count the same. */
import type { Attempt, TrainingJobStatus } from '@coxswain/api-types';

type Runtime = NonNullable<TrainingJobStatus['runtime']>;

/** What the time of a run is read from: part of a job's status. */
export interface HeldTimes {
  readonly attempts?: readonly Attempt[] | undefined;
  readonly runtime?: Runtime | undefined;
}

/** Milliseconds for which this run of the job has held GPUs, summed over its attempts. Negative times of clocks that differ count as 0. */
export function heldByRunMs(times: HeldTimes, now: Date): number {
  const { heldSeconds, throughEpoch } = countedTime(times);
  const later = (times.attempts ?? []).filter(({ epoch }) => epoch > throughEpoch);
  return later.reduce((sum, attempt) => sum + heldMs(attempt, now), heldSeconds * 1_000);
}

/** The recorded sum. A suspension ends a run, so it begins at 0 after the last one. */
export function countedTime({ runtime, attempts = [] }: HeldTimes): Runtime {
  const suspended = attempts.findLast(({ outcome }) => outcome === 'Suspended')?.epoch ?? 0;
  if (runtime !== undefined && runtime.throughEpoch >= suspended) return runtime;
  return { heldSeconds: 0, throughEpoch: suspended };
}

/** Milliseconds from the reservation of the attempt's GPUs until its last pod has ended. */
export function heldMs({ startedAt, stoppingAt, endedAt, stage }: Attempt, now: Date): number {
  const until = stage === 'Ended' ? Date.parse(endedAt ?? stoppingAt ?? startedAt) : now.getTime();
  const ms = until - Date.parse(startedAt);
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
