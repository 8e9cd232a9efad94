import { type Attempt, ATTEMPT_REASONS, type FailureRule } from '@coxswain/api-types';
import type { JobRecord } from '../record/job-record.ts';
import { isCheckpointReason } from './resume-point.ts';

interface RestartPolicy {
  readonly maxRestarts: number;
  readonly delaySeconds: number;
}

/** Free restarts in a row that led nowhere; the next one is charged, so that nothing restarts for ever. */
export const MAX_FREE_RESTARTS_IN_A_ROW = 10;
const MAX_DELAY_SECONDS = 300;
/**
 * First pause where the policy asks for less, after the cluster refused pods or a placement was lost (a quota does not change at once), and from the
 * second free restart in the same pods on.
 */
const LEAST_DELAY_SECONDS = 1;

/** What answers the failure of the record's last attempt by that rule, and whether the budget of restarts pays for it. */
export function answerTo(
  record: JobRecord,
  policy: RestartPolicy,
  rule: Pick<FailureRule, 'action' | 'charged'>,
): { readonly answer: 'Restart' | 'GiveUp'; readonly charged: boolean } {
  const failed = record.attempts.at(-1);
  const reason = failed?.reason ?? 'LauncherFailed';
  const isCharged = rule.charged ?? ATTEMPT_REASONS[reason].charged;
  if (rule.action === 'Fail') return { answer: 'GiveUp', charged: isCharged };
  // Nothing ran, so nothing can run for ever: it waits, as for capacity, until somebody makes room.
  if (hasRunNothing(reason)) return { answer: 'Restart', charged: false };
  // Not the job's doing. It ends by itself: after some tries in a row the job waits for a person to choose (`resume-point.ts`).
  if (isCheckpointReason(reason)) return { answer: 'Restart', charged: false };
  const started = record.attempts.slice(0, -1).filter((attempt) => !hasRunNothing(attempt.reason));
  const charged = isCharged || freeFailuresInARow(started) >= MAX_FREE_RESTARTS_IN_A_ROW;
  return { answer: charged && record.restarts.charged >= policy.maxRestarts ? 'GiveUp' : 'Restart', charged };
}

/**
 * Pause before the epoch that answers the last attempt's failure; `restarts` already counts it. Doubles with each charged restart, and
 * with each free one that follows another without a step in between, up to 300 s (or to a longer first delay). `freeInPods`: free restarts in the
 * same pods before it in a row, whatever was trained between them. A failure policy has decided its pause when it judged the failure.
 */
export function restartDelayMs(record: JobRecord, policy: RestartPolicy, freeInPods = 0): number {
  const failed = record.attempts.at(-1);
  if (failed?.judgement?.delayMs !== undefined) return failed.judgement.delayMs;
  const isCharged = failed?.charged === true;
  const free = freeFailuresInARow(record.attempts.slice(0, -1)) + freeInPods;
  const doublings = isCharged ? record.restarts.charged - 1 : free;
  const isPaced = hasRunNothing(failed?.reason) || (!isCharged && freeInPods > 0);
  const first = Math.max(policy.delaySeconds, isPaced ? LEAST_DELAY_SECONDS : 0);
  const seconds = first * 2 ** Math.min(Math.max(0, doublings), 20);
  return Math.min(1000 * seconds, longestDelayMs(policy));
}

/** No pause before a restart is longer. */
export function longestDelayMs({ delaySeconds }: Pick<RestartPolicy, 'delaySeconds'>): number {
  return 1000 * Math.max(MAX_DELAY_SECONDS, delaySeconds);
}

/** Trailing attempts that failed for free without having trained a step. */
function freeFailuresInARow(attempts: readonly Attempt[]): number {
  const lastFruitful = attempts.findLastIndex(
    (attempt) => attempt.outcome !== 'Failed' || attempt.charged !== false || hasAdvanced(attempt),
  );
  return attempts.length - 1 - lastFruitful;
}

function hasAdvanced(attempt: Attempt): boolean {
  return (attempt.lastStep ?? 0) > (attempt.resumedFrom?.step ?? 0);
}

/** Whether an attempt that failed so had not released a pod. */
export function hasRunNothing(reason: Attempt['reason']): boolean {
  return reason === 'PodsRefused' || reason === 'PlacementLost' || reason === 'NameConflict';
}
