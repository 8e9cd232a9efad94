import { findCondition, type TrainingJob } from '@coxswain/api-types';
import { isWaitingForCapacity, waitingSince } from './waiting-jobs.ts';

/** Figures of jobs by state, and of those that are not placed. */
export interface QueueFigures {
  /** Jobs by state. */
  readonly jobsByState: Readonly<Record<string, number>>;
  /** Jobs that are not placed, by the reason of condition `Placed`. */
  readonly waitingByReason: Readonly<Record<string, number>>;
  /** The longest time for which a job has waited for GPUs; 0: no job waits. */
  readonly oldestWaitSeconds: number;
}

/** The figures of these jobs at that time. */
export function queueFigures(jobs: Iterable<TrainingJob>, nowMs: number): QueueFigures {
  const jobsByState: Record<string, number> = {};
  const waitingByReason: Record<string, number> = {};
  let oldestMs = nowMs;
  for (const job of jobs) {
    const state = job.status?.state ?? 'Queued';
    jobsByState[state] = (jobsByState[state] ?? 0) + 1;
    const placed = findCondition(job.status?.conditions, 'Placed');
    if (placed?.status !== 'False' || !WAITING_STATES.has(state)) continue;
    waitingByReason[placed.reason] = (waitingByReason[placed.reason] ?? 0) + 1;
    const sinceMs = isWaitingForCapacity(job) ? Date.parse(waitingSince(job)) : Number.NaN;
    if (sinceMs < oldestMs) oldestMs = sinceMs;
  }
  return { jobsByState, waitingByReason, oldestWaitSeconds: (nowMs - oldestMs) / 1_000 };
}

const WAITING_STATES: ReadonlySet<string> = new Set(['Queued', 'Restarting']);
