/** How long did a job take from each failure to its next step, and how long did its ranks stand still for a save? */
import { type JobRecovery, MAX_RECOVERIES } from '@coxswain/api-types';
import { msPerSave, totalSaveCost } from './save-cost.ts';
import type { AttemptHistory, JobHistory, RunHistory } from './history.ts';

interface PlacedRun {
  readonly run: RunHistory;
  readonly attempt: AttemptHistory;
}

/** The newest recoveries, oldest first: one for each run that took the place of a failed one. */
export function recoveriesOf({ attempts }: JobHistory): readonly JobRecovery[] {
  const runs = attempts.flatMap((attempt) => attempt.runs.map((run) => ({ run, attempt })));
  return runs
    .flatMap((next, index) => {
      const before = runs[index - 1];
      return before?.run.end === 'failed' && isNext(before, next) ? recovery(before, next) : [];
    })
    .slice(-MAX_RECOVERIES);
}

/** Mean seconds between the steps at which checkpoints were saved; null if none was, or if less passed than reports of steps show. */
export function secondsPerSave({ attempts }: JobHistory): number | null {
  const ms = msPerSave(totalSaveCost(attempts.map(({ saves }) => saves)));
  return ms === undefined ? null : ms / 1000;
}

/** Whether no run was between them. The first runs of an attempt with many incarnations are not recorded. */
function isNext(before: PlacedRun, { attempt }: PlacedRun): boolean {
  return before.attempt === attempt || !attempt.lacksRuns;
}

/** Of a run that ended without a time nothing can be said. */
function recovery(failed: PlacedRun, next: PlacedRun): readonly JobRecovery[] {
  const failedMs = failed.run.endedMs;
  if (failedMs === undefined) return [];
  const { run, attempt } = next;
  const lastStepMs = failed.run.lastStepMs;
  const placedMs = attempt === failed.attempt ? failedMs : attempt.heldFromMs;
  const after = phases(failedMs);
  return [
    {
      epoch: attempt.epoch,
      incarnation: run.incarnation,
      failedAt: new Date(failedMs).toISOString(),
      resumedFromStep: run.resumedFromStep,
      lastStep: failed.run.lastStep ?? null,
      noticing: lastStepMs === undefined ? null : secondsBetween(lastStepMs, failedMs),
      waiting: after(placedMs),
      starting: after(run.runningMs),
      loading: after(run.restoredMs),
      stepping: after(run.firstStepMs),
      total: run.firstStepMs === undefined ? null : secondsBetween(failedMs, run.firstStepMs),
    },
  ];
}

/** Seconds from the latest moment that was known before; a clock that was set back makes no phase negative. */
function phases(fromMs: number): (moment: number | undefined) => number | null {
  let cursor = fromMs;
  return (moment) => {
    if (moment === undefined) return null;
    const spent = secondsBetween(cursor, moment);
    cursor = Math.max(cursor, moment);
    return spent;
  };
}

function secondsBetween(fromMs: number, toMs: number): number {
  return Math.max(0, toMs - fromMs) / 1000;
}
