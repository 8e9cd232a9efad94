import { findCondition, type TrainingJob } from '@coxswain/api-types';
import { isWaitingForCapacity, waitingSince } from './waiting-jobs.ts';

/** Figures of the jobs that are not placed. */
export interface QueueFigures {
  /** Jobs that are not placed, by the reason of condition `Placed`. */
  readonly waitingByReason: Readonly<Record<string, number>>;
  /** The longest time for which a job has waited for GPUs; 0: no job waits. */
  readonly oldestWaitSeconds: number;
}

/** The figures of these jobs at that time. */
export function queueFigures(jobs: Iterable<TrainingJob>, nowMs: number): QueueFigures {
  const waitingByReason: Record<string, number> = {};
  let oldestMs = nowMs;
  for (const job of jobs) {
    const placed = findCondition(job.status?.conditions, 'Placed');
    if (placed?.status !== 'False' || !WAITING_STATES.has(job.status?.state ?? 'Queued')) continue;
    waitingByReason[placed.reason] = (waitingByReason[placed.reason] ?? 0) + 1;
    const sinceMs = isWaitingForCapacity(job) ? Date.parse(waitingSince(job)) : Number.NaN;
    if (sinceMs < oldestMs) oldestMs = sinceMs;
  }
  return { waitingByReason, oldestWaitSeconds: (nowMs - oldestMs) / 1_000 };
}

const WAITING_STATES: ReadonlySet<string> = new Set(['Queued', 'Restarting']);
