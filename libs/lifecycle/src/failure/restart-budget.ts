import { type Attempt, ATTEMPT_REASONS, type FailureRule, startStepOf } from '@coxswain/api-types';
import type { JobRecord } from '../record/job-record.ts';
import { isCheckpointReason } from './checkpoint-standing.ts';

interface RestartPolicy {
  readonly maxRestarts: number;
  readonly delaySeconds: number;
}

/** Free restarts in a row without progress; the next one is charged, so that no job restarts forever. */
export const MAX_FREE_RESTARTS_IN_A_ROW = 10;
const MAX_DELAY_SECONDS = 300;
/**
 * Shortest first pause after the cluster refused pods or a placement was lost, because a quota does not change at once; after a checkpoint could
 * not be read, because storage does not come back at once; and from the second free restart in the same pods.
 */
const LEAST_DELAY_SECONDS = 1;

/** The answer to the failure of the record's last attempt by that rule, and whether the restart budget pays. */
export function answerTo(
  record: JobRecord,
  policy: RestartPolicy,
  rule: Pick<FailureRule, 'action' | 'charged'>,
): { readonly answer: 'Restart' | 'GiveUp'; readonly charged: boolean } {
  const failed = record.attempts.at(-1);
  const reason = failed?.reason ?? 'LauncherFailed';
  const isCharged = rule.charged ?? ATTEMPT_REASONS[reason].charged;
  if (rule.action === 'Fail') return { answer: 'GiveUp', charged: isCharged };
  // Nothing ran, so it cannot repeat forever: the job waits until there is room, as for capacity.
  if (hasRunNothing(reason)) return { answer: 'Restart', charged: false };
  // Not the job's fault. After some attempts in a row the job waits for a user to choose (`resume-point.ts`).
  if (isCheckpointReason(reason)) return { answer: 'Restart', charged: false };
  const started = record.attempts.slice(0, -1).filter((attempt) => !hasRunNothing(attempt.reason));
  const charged = isCharged || freeFailuresInARow(started) >= MAX_FREE_RESTARTS_IN_A_ROW;
  return { answer: charged && record.restarts.charged >= policy.maxRestarts ? 'GiveUp' : 'Restart', charged };
}

/**
 * Pause before the epoch that follows the last attempt's failure; `restarts` includes it already. It doubles with each charged restart, and with each
 * free restart without a step in between. Its limit is 300 s, or a longer first delay. `freeInPods`: earlier free restarts in a row in the same pods,
 * regardless of progress. A failure policy decides its pause in the judgement.
 */
export function restartDelayMs(record: JobRecord, policy: RestartPolicy, freeInPods = 0): number {
  const failed = record.attempts.at(-1);
  if (failed?.judgement?.delayMs !== undefined) return failed.judgement.delayMs;
  const isCharged = failed?.charged === true;
  // Nothing failed: the newer checkpoint can be read now.
  if (failed?.verifiedCheckpoint !== undefined) return 1000 * policy.delaySeconds;
  const free = freeFailuresInARow(record.attempts.slice(0, -1)) + freeInPods;
  const doublings = isCharged ? record.restarts.charged - 1 : free;
  const isPaced =
    hasRunNothing(failed?.reason) || failed?.reason === 'CheckpointIoError' || (!isCharged && freeInPods > 0);
  const first = Math.max(policy.delaySeconds, isPaced ? LEAST_DELAY_SECONDS : 0);
  const seconds = first * 2 ** Math.min(Math.max(0, doublings), 20);
  return Math.min(1000 * seconds, longestDelayMs(policy));
}

/** The longest pause before a restart, in milliseconds. */
export function longestDelayMs({ delaySeconds }: Pick<RestartPolicy, 'delaySeconds'>): number {
  return 1000 * Math.max(MAX_DELAY_SECONDS, delaySeconds);
}

/** Number of last attempts that failed free of charge without a trained step. */
function freeFailuresInARow(attempts: readonly Attempt[]): number {
  const lastFruitful = attempts.findLastIndex(
    (attempt) => attempt.outcome !== 'Failed' || attempt.charged !== false || hasAdvanced(attempt),
  );
  return attempts.length - 1 - lastFruitful;
}

function hasAdvanced(attempt: Attempt): boolean {
  return (attempt.lastStep ?? 0) > startStepOf(attempt);
}

/** Whether an attempt with that reason had not released a pod. */
export function hasRunNothing(reason: Attempt['reason']): boolean {
  return reason === 'PodsRefused' || reason === 'PlacementLost' || reason === 'NameConflict';
}
