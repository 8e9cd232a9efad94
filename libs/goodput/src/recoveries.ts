/** How long did a job take from the last step before each failure to its next step, phase by phase, and how long did its ranks stand still for a save? */
import {
  type JobRecovery,
  MAX_RECOVERIES,
  RESTART_PHASES,
  type RestartPhase,
  type RestartPhaseTotal,
} from '@coxswain/api-types';
import { msPerSave, totalSaveCost } from './save-cost.ts';
import type { AttemptHistory, JobHistory, RunHistory } from './history.ts';

interface PlacedRun {
  readonly run: RunHistory;
  readonly attempt: AttemptHistory;
}

/** One run that took the place of a failed one. */
interface Restart {
  readonly failed: PlacedRun;
  readonly next: PlacedRun;
  readonly recovery: JobRecovery;
}

const PHASES = Object.keys(RESTART_PHASES) as readonly RestartPhase[];
/** Phases in which the failed gang holds its GPUs. While nodes are sought no GPU is held; afterwards the next gang holds its own. */
const OF_FAILED_GANG: readonly RestartPhase[] = ['detecting', 'deciding', 'reaping'];

/** The newest recoveries, oldest first: one for each run that took the place of a failed one. */
export function recoveriesOf(history: JobHistory): readonly JobRecovery[] {
  return restartsOf(history)
    .map(({ recovery }) => recovery)
    .slice(-MAX_RECOVERIES);
}

/** The time of every restart that has come to its first step, by phase: every phase, in their order. */
export function restartPhaseTotals(history: JobHistory): readonly RestartPhaseTotal[] {
  const restarts = restartsOf(history).filter(({ recovery }) => recovery.total !== null);
  return PHASES.map((phase) => {
    const known = restarts.flatMap((restart) => {
      const { seconds = null } = restart.recovery.phases.find((one) => one.phase === phase) ?? {};
      return seconds === null ? [] : [{ seconds, gpuSeconds: seconds * gpusIn(phase, restart) }];
    });
    return {
      phase,
      restarts: known.length,
      seconds: sumOf(known.map(({ seconds }) => seconds)),
      gpuSeconds: sumOf(known.map(({ gpuSeconds }) => gpuSeconds)),
    };
  });
}

/** Mean seconds between the steps at which checkpoints were saved; null if none was, or if less passed than reports of steps show. */
export function secondsPerSave({ attempts }: JobHistory): number | null {
  const ms = msPerSave(totalSaveCost(attempts.map(({ saves }) => saves)));
  return ms === undefined ? null : ms / 1000;
}

function restartsOf({ attempts }: JobHistory): readonly Restart[] {
  const runs = attempts.flatMap((attempt) => attempt.runs.map((run) => ({ run, attempt })));
  return runs.flatMap((next, index) => {
    const failed = runs[index - 1];
    if (failed?.run.end !== 'failed' || !isNext(failed, next)) return [];
    const recovery = recoveryOf(failed, next);
    return recovery === undefined ? [] : [{ failed, next, recovery }];
  });
}

/** Whether no run was between them. The first runs of an attempt with many incarnations are not recorded. */
function isNext(before: PlacedRun, { attempt }: PlacedRun): boolean {
  return before.attempt === attempt || !attempt.lacksRuns;
}

/** Of a run that ended without a time nothing can be said. */
function recoveryOf(failed: PlacedRun, next: PlacedRun): JobRecovery | undefined {
  const { endedMs, lastStepMs, lastStep, marks } = failed.run;
  if (endedMs === undefined) return undefined;
  const { run, attempt } = next;
  const fromMs = Math.min(lastStepMs ?? marks.failed ?? endedMs, endedMs);
  const toMs = run.firstStepMs === undefined ? Infinity : Math.max(run.firstStepMs, fromMs);
  const phases = phasesOf(passedAt(failed, next), { fromMs, toMs });
  return {
    epoch: attempt.epoch,
    incarnation: run.incarnation,
    failedAt: new Date(endedMs).toISOString(),
    resumedFromStep: run.resumedFromStep,
    lastStep: lastStep ?? null,
    phases: [...phases],
    total: run.firstStepMs === undefined ? null : (toMs - fromMs) / 1000,
  };
}

type Moments = Readonly<Record<RestartPhase, number | undefined>>;

/** When each phase of a restart was over; undefined: not known, or not over. */
function passedAt(failed: PlacedRun, { run, attempt }: PlacedRun): Moments {
  const inPods = attempt === failed.attempt;
  const { marks } = run;
  const reaped = inPods ? marks.reaped : failed.attempt.heldToMs;
  return {
    // What a run did before its first step cannot be separated from the time until its failure was seen.
    detecting: failed.run.lastStepMs === undefined ? undefined : failed.run.marks.failed,
    deciding: failed.run.endedMs,
    reaping: reaped,
    placing: inPods ? (reaped ?? failed.run.endedMs) : attempt.heldFromMs,
    starting: marks.started ?? run.runningMs,
    importing: marks.imported,
    meeting: marks.met,
    loading: marks.loaded ?? run.restoredMs,
    stepping: run.firstStepMs,
  };
}

/**
 * Seconds of each phase, from the latest moment that was known before: the known ones add up to the time from `fromMs` to the last known moment. Clocks
 * step, so a moment before the one before it, or after the first step, moves a border and no more.
 */
function phasesOf(
  moments: Moments,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): JobRecovery['phases'] {
  let cursor = fromMs;
  return PHASES.map((phase) => {
    const moment = moments[phase];
    if (moment === undefined) return { phase, seconds: null };
    const until = Math.min(Math.max(moment, cursor), toMs);
    const seconds = (until - cursor) / 1000;
    cursor = until;
    return { phase, seconds };
  });
}

function gpusIn(phase: RestartPhase, { failed, next }: Restart): number {
  if (OF_FAILED_GANG.includes(phase)) return failed.attempt.gpus;
  return phase === 'placing' ? 0 : next.attempt.gpus;
}

/** Rounded to a microsecond: sums of seconds are shown and compared. */
function sumOf(values: readonly number[]): number {
  return Number(values.reduce((sum, value) => sum + value, 0).toFixed(6));
}
