/** When did a run load its checkpoint, and take its first and last step? */
import { type Attempt, startStepOf } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import { isOfFence } from '../observation/incarnation.ts';
import type { ObservedProgress } from '../observation/observed.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { restoreOf } from './record-restore.ts';
import { withClock } from './run-clock.ts';

/**
 * Records the first step and the restore with their first report, independent of the progress interval. Goodput is computed from these
 * marks for as long as the record is kept, and an operator's memory ends with its process. This costs one more write for a run that
 * resumes, and none from scratch.
 */
export function recordMarks(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const { progress } = facts.observed;
  const attempt = liveAttempt(record);
  if (attempt === undefined || attempt.firstStep !== undefined) return record;
  if (progress === undefined || !isOfFence(progress, attempt)) return record;
  const { step } = progress;
  const at = now.toISOString();
  // A rank could not read its save in memory, so all of them began from the checkpoint.
  if (attempt.memorySave !== undefined && step < attempt.memorySave.step)
    return recordMarks(withoutMemorySave(record, attempt), facts, now);
  const from = startStepOf(attempt);
  if (step > from) {
    const firstStep = firstStepOf(progress, { from, now }) ?? { step, at };
    return withClock(withLastAttempt(record, { firstStep, ...restoreOf(attempt, progress, facts) }), facts);
  }
  return attempt.restoredAt === undefined && from > 0 ? withLastAttempt(record, { restoredAt: at }) : record;
}

function withoutMemorySave(record: JobRecord, { memorySave: _, ...attempt }: Attempt): JobRecord {
  return { ...record, attempts: [...record.attempts.slice(0, -1), attempt] };
}

/** The first step that was received of these ranks, by its own time: this observation is up to some seconds later. */
function firstStepOf(
  { first }: ObservedProgress,
  { from, now }: { readonly from: number; readonly now: Date },
): Attempt['firstStep'] {
  if (first === undefined || first.step <= from || !(first.atMs <= now.getTime())) return undefined;
  return { step: first.step, at: new Date(first.atMs).toISOString() };
}

/** When the ending run's newest step was received, else when its recorded progress was written; empty for a run without a step. */
export function lastStepAt(record: JobRecord, facts: Facts): Pick<Attempt, 'lastStepAt'> {
  const { progress } = record;
  const attempt = record.attempts.at(-1);
  if (progress === undefined || attempt?.firstStep === undefined) return {};
  const { progress: observed } = facts.observed;
  const isSame = observed !== undefined && isOfFence(observed, attempt) && observed.step === progress.step;
  const { stepAtMs } = isSame ? observed : {};
  const isBefore = stepAtMs !== undefined && stepAtMs <= Date.parse(progress.reportedAt);
  if (isBefore) return { lastStepAt: new Date(stepAtMs).toISOString() };
  // The steps of an attempt that is over are forgotten before it ends.
  const isRecorded = attempt.lastStepAt !== undefined && attempt.lastStep === progress.step;
  return isRecorded ? {} : { lastStepAt: progress.reportedAt };
}

/**
 * The record with the time spent in steps and between them. Measurements of a run with saves stay until a later run of the attempt has
 * saved too.
 */
export function withPace(record: JobRecord, { observed: { progress }, checkpoints }: Facts): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt === undefined || progress?.pace === undefined || !isOfFence(progress, attempt)) return record;
  const { fromStep, elapsedMs, inStepsMs } = progress.pace;
  const saves = checkpoints.filter(
    ({ spec }) => isOfFence(spec, attempt) && spec.step >= fromStep && spec.step < progress.step,
  ).length;
  if (saves === 0 && (attempt.pace?.saves ?? 0) > 0) return record;
  const betweenStepsMs = Math.max(0, Math.round(elapsedMs - inStepsMs));
  return withLastAttempt(record, {
    pace: { steps: progress.step - fromStep, inStepsMs: Math.round(inStepsMs), betweenStepsMs, saves },
  });
}
