/** Is a failure answered by starting the ranks again in the same pods, and from where? */
import {
  type Attempt,
  type EndedIncarnation,
  type FailureJudgement,
  MAX_ENDED_INCARNATIONS,
} from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import { type Failure, verdictsOn } from '../failure/failure.ts';
import { type FailedAttempt, type Judged, judgeFailure } from '../failure/judge-failure.ts';
import { longestDelayMs, restartDelayMs } from '../failure/restart-budget.ts';
import { resumePointOf } from '../failure/resume-point.ts';
import { withFailureNoted } from '../incident/note-failure.ts';
import { type Facts, placementOf } from '../observation/facts.ts';
import { missingIndices, podsOf } from '../observation/gang.ts';
import { isAlive, launcherOf } from '../observation/incarnation.ts';
import type { ObservedPod } from '../observation/observed.ts';
import type { Wait } from '../observation/waits.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { endedSave } from './early-save.ts';
import { lastStepAt } from './run-marks.ts';

/**
 * The record with the failure told as one of an incarnation, the next one begun and the restart counted: all in one write, so that a failure is
 * counted once and no launcher is told of an incarnation that is not recorded. undefined: new pods have to answer it, as they always can.
 */
export function withNextIncarnation(
  record: JobRecord,
  failed: FailedAttempt,
  { facts, now }: { readonly facts: Facts; readonly now: Date },
): JobRecord | undefined {
  const attempt = liveAttempt(record);
  if (attempt === undefined || !isMended(attempt, failed) || !isWhole(facts, attempt)) return undefined;
  const resumedFrom = pointOf(record, facts);
  if (resumedFrom === undefined || facts.spec?.restartPolicy.inPlace !== 'WhenPossible') return undefined;
  const { failure } = failed;
  const judged = judgeFailure(record, failed, { facts, now });
  const { answer, charged, judgement, failures } = judged;
  if (!IN_PODS.includes(judgement.action) || !isShort(judgement, facts)) return undefined;
  // Whatever takes the port again and again is on these nodes, and what is free must not go on for ever.
  const freeInPods = freeInARow(attempt.incarnations);
  if (answer === 'GiveUp' || (!charged && freeInPods >= MAX_ENDED_INCARNATIONS)) return undefined;
  const restarts = { total: record.restarts.total + 1, charged: record.restarts.charged + (charged ? 1 : 0) };
  const noted = withFailureNoted(record, { ...failed, judged, inPods: true }, { facts, now });
  const counted = { ...noted, restarts, failures };
  const { runningAt: _, restoredAt: __, firstStep: ___, ...rest } = attempt;
  const earlySave = endedSave(attempt, facts);
  const next: Attempt = {
    ...rest,
    // On a node that is as suspect as it was the new ranks are asked as well; the number of the request goes on.
    ...(earlySave === undefined ? {} : { earlySave: { ...earlySave, suspicions: [] } }),
    incarnation: (attempt.incarnation ?? 1) + 1,
    incarnations: [
      ...(attempt.incarnations ?? []),
      { ...ended(attempt, failed, { charged, judgement, now }), ...lastStepAt(record) },
    ].slice(-MAX_ENDED_INCARNATIONS),
    resumedFrom,
  };
  const failedAttempt = withLastAttempt(counted, { reason: failure.reason, charged, judgement });
  const delayMs = restartDelayMs(failedAttempt, facts.restartPolicy, freeInPods);
  return {
    ...counted,
    attempts: [...record.attempts.slice(0, -1), next],
    notBefore: new Date(now.getTime() + delayMs).toISOString(),
    // Status never speaks of a later step than the one that training goes on from.
    progress: undefined,
    checkpoint: { name: resumedFrom.checkpoint, step: resumedFrom.step },
  };
}

/** The pause before the ranks are started again; undefined while they run. */
export function pauseInPods(record: JobRecord, facts: Facts): Wait | undefined {
  const attempt = liveAttempt(record);
  const last = attempt?.incarnations?.at(-1);
  if (attempt?.stage !== 'Released' || attempt.runningAt !== undefined || last === undefined) return undefined;
  const { reason, charged, judgement } = last;
  const freeInPods = freeInARow(attempt.incarnations?.slice(0, -1));
  const failedAttempt = withLastAttempt(record, { reason, charged, judgement });
  const limitMs = restartDelayMs(failedAttempt, facts.restartPolicy, freeInPods);
  return { key: `e${attempt.epoch}i${attempt.incarnation ?? 1}/delay`, limitMs };
}

/** Trailing incarnations that failed for free. Status remembers as many as {@link MAX_ENDED_INCARNATIONS}. */
function freeInARow(incarnations: Attempt['incarnations'] = []): number {
  return incarnations.length - 1 - incarnations.findLastIndex(({ charged }) => charged);
}

/** What a rule may ask for without new pods. */
const IN_PODS: readonly FailureJudgement['action'][] = ['Restart'];

/** Whoever has to wait longer than any pause in pods gives the GPUs back meanwhile. */
function isShort({ delayMs = 0 }: FailureJudgement, { restartPolicy }: Facts): boolean {
  return delayMs <= longestDelayMs(restartPolicy);
}

const MENDED_IN_PLACE: readonly Failure['reason'][] = ['EngineFailed', 'RendezvousPortLost'];

/** Processes can be started anew, pods cannot be mended; and what fails again without progress is not mended by the same pods. */
function isMended(attempt: Attempt, { failure, lastStep = -1 }: FailedAttempt): boolean {
  const before = attempt.incarnations?.at(-1);
  const isProgress = before === undefined || lastStep > (before.lastStep ?? -1);
  return attempt.stage === 'Released' && MENDED_IN_PLACE.includes(failure.reason) && isProgress;
}

/**
 * Whether every pod of the gang lives, nobody wants it to stop, and no detector wants it elsewhere. A launcher that has gone further than is
 * recorded has to be answered by an epoch: whatever number came next, it may have been given before.
 */
function isWhole(facts: Facts, attempt: Attempt): boolean {
  const { preflight } = facts.observed;
  if (verdictsOn(facts, attempt).length > 0) return false;
  if (preflight?.epoch === attempt.epoch && preflight.named.nodes.length > 0) return false;
  if (facts.deleting || facts.cancel || facts.suspend || placementOf(facts, attempt.epoch) === undefined) return false;
  const pods = podsOf(facts, attempt.epoch);
  const isAhead = (pod: ObservedPod): boolean =>
    (launcherOf(facts, pod, attempt)?.incarnation ?? 0) > (attempt.incarnation ?? 1);
  return missingIndices(facts, attempt).length === 0 && pods.every((pod) => isAlive(facts, pod) && !isAhead(pod));
}

/** Never from scratch; and what a person asks for begins an epoch, which records that it was answered. */
function pointOf(record: JobRecord, facts: Facts): Attempt['resumedFrom'] {
  const from = resumePointOf(record, facts);
  if (from.kind !== 'checkpoint' || from.answers !== undefined) return undefined;
  const { metadata, spec } = from.checkpoint;
  const { step, path, manifestSha256 } = spec;
  return { checkpoint: metadata.name, step, path, manifestSha256 };
}

const MAX_MESSAGE_CHARACTERS = 1_000;

function ended(
  { incarnation = 1, runningAt, restoredAt, firstStep, resumedFrom }: Attempt,
  { failure, lastStep }: FailedAttempt,
  { charged, judgement, now }: Pick<Judged, 'charged' | 'judgement'> & { readonly now: Date },
): EndedIncarnation {
  // The sentence is for whoever reads the newest; a job keeps 160 of these.
  const { says: _, ...kept } = judgement;
  return {
    incarnation,
    ...(runningAt === undefined ? {} : { runningAt }),
    ...(restoredAt === undefined ? {} : { restoredAt }),
    ...(firstStep === undefined ? {} : { firstStep }),
    endedAt: now.toISOString(),
    reason: failure.reason,
    message: safeText(failure.message, MAX_MESSAGE_CHARACTERS),
    charged,
    ...(lastStep === undefined ? {} : { lastStep }),
    ...(resumedFrom === undefined ? {} : { resumedFrom }),
    judgement: kept,
  };
}
