/** When did a run of the ranks load its checkpoint, and take its first and last step? */
import type { Attempt } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import { isOfFence } from '../observation/incarnation.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';

/**
 * Recorded with the first word of each, beside the interval in which progress is written: how a run's time divides is read off these for as long as the record is
 * kept, and the memory of an operator ends with it. One write more for a run that resumes; that of one from scratch goes with its first progress.
 */
export function recordMarks(record: JobRecord, { observed: { progress } }: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt === undefined || attempt.firstStep !== undefined) return record;
  if (progress === undefined || !isOfFence(progress, attempt)) return record;
  const { step } = progress;
  const at = now.toISOString();
  const from = attempt.resumedFrom?.step ?? 0;
  if (step > from) return withLastAttempt(record, { firstStep: { step, at } });
  return attempt.restoredAt === undefined && from > 0 ? withLastAttempt(record, { restoredAt: at }) : record;
}

/** When the newest step of the run that ends was heard of, as its progress was written; nothing of one that never took a step. */
export function lastStepAt(record: JobRecord): Pick<Attempt, 'lastStepAt'> {
  const { progress } = record;
  if (progress === undefined || record.attempts.at(-1)?.firstStep === undefined) return {};
  return { lastStepAt: progress.reportedAt };
}

/** With what was spent in steps and between them. What a run measured that saved stays until a later one of its attempt has saved too. */
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
