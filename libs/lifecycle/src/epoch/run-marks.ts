/** When did a run load its checkpoint, and take its first and last step? */
import type { Attempt } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import { isOfFence } from '../observation/incarnation.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { restoreOf } from './record-restore.ts';

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
  const from = attempt.resumedFrom?.step ?? 0;
  if (step > from) return withLastAttempt(record, { firstStep: { step, at }, ...restoreOf(attempt, progress, facts) });
  return attempt.restoredAt === undefined && from > 0 ? withLastAttempt(record, { restoredAt: at }) : record;
}

/** When the ending run's newest step was reported, as its recorded progress says; empty for a run without a step. */
export function lastStepAt(record: JobRecord): Pick<Attempt, 'lastStepAt'> {
  const { progress } = record;
  if (progress === undefined || record.attempts.at(-1)?.firstStep === undefined) return {};
  return { lastStepAt: progress.reportedAt };
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
