/** Does a failure restart the ranks in the same pods, and from which checkpoint? */
import {
  type Attempt,
  type Checkpoint,
  effectiveLayout,
  type EndedIncarnation,
  type FailureJudgement,
  type RunClock,
  MAX_ENDED_INCARNATIONS,
  type PassedOverCheckpoint,
} from '@coxswain/api-types';
import { describeLoadRefusal, isUniversal, layoutToLoad, recordedSave } from '@coxswain/checkpoint';
import { safeText } from '@coxswain/safe-text';
import type { Failure } from '../failure/failure.ts';
import { originOfFailure } from '../failure/origin-of-failure.ts';
import { type FailedAttempt, type Judged, judgeFailure } from '../failure/judge-failure.ts';
import { tracebackOf } from '../failure/last-lines.ts';
import { longestDelayMs, restartDelayMs } from '../failure/restart-budget.ts';
import { passedOverBy, resumePointOf } from '../failure/resume-point.ts';
import { resumedFromOf } from '../failure/resumed-from.ts';
import { withAvoided } from '../failure/avoided-nodes.ts';
import { withFailureNoted } from '../incident/note-failure.ts';
import { type Facts, placementOf } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import type { Wait } from '../observation/waits.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { endedSave } from './early-save.ts';
import { lossBeforeRestore } from './record-restore.ts';
import { lastStepAt } from './run-marks.ts';
import { replacementsFor } from './replace-pods.ts';

/**
 * The record with the failed incarnation, the next one and the counted restart, all in one write. So a failure counts once, and launchers never get
 * an unrecorded incarnation. undefined: new pods must answer the failure.
 */
export function withNextIncarnation(
  record: JobRecord,
  failed: FailedAttempt,
  { facts, now }: { readonly facts: Facts; readonly now: Date },
): JobRecord | undefined {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released' || !mayGoOn(facts, attempt)) return undefined;
  const point = pointOf(record, facts);
  if (point === undefined || facts.spec?.restartPolicy.inPlace !== 'WhenPossible') return undefined;
  const { resumedFrom, passedOver } = point;
  const { failure } = failed;
  const judged = judgeFailure(record, failed, { facts, now });
  const { answer, charged, judgement, failures } = judged;
  if (!isShort(judgement, facts)) return undefined;
  const lost = { ...failed, avoid: judged.avoid };
  const replaced = replacementsFor(record, facts, { attempt, lost, now });
  const isRestart = replaced === 'none' && isMended(attempt, failed) && IN_PODS.includes(judgement.action);
  if (replaced === 'short' || (replaced === 'none' && !isRestart)) return undefined;
  // The process that keeps taking the port is on these nodes, and free restarts must not go on forever.
  const freeInPods = freeInARow(attempt);
  if (answer === 'GiveUp' || (replaced === 'none' && !charged && freeInPods >= MAX_ENDED_INCARNATIONS))
    return undefined;
  const restarts = { total: record.restarts.total + 1, charged: record.restarts.charged + (charged ? 1 : 0) };
  const noted = withFailureNoted(record, { ...failed, judged, inPods: true }, { facts, now });
  const { avoid } = judged;
  const avoiding = avoid === undefined ? noted : withAvoided(noted, { ...avoid, epoch: record.epoch }, facts, now);
  const counted = { ...avoiding, restarts, failures };
  const {
    runningAt: _,
    restoredAt: __,
    firstStep: ___,
    passedOver: ____,
    restore: _____,
    clock: ______,
    memorySave: _______,
    ...rest
  } = attempt;
  const earlySave = endedSave(attempt, facts);
  const next: Attempt = {
    ...rest,
    // The suspicions are cleared, so that the new ranks may be asked to save too; the request number continues.
    ...(earlySave === undefined ? {} : { earlySave: { ...earlySave, suspicions: [] } }),
    incarnation: (attempt.incarnation ?? 1) + 1,
    ...(replaced === 'none' ? {} : { replacements: [...(attempt.replacements ?? []), ...replaced] }),
    incarnations: [
      ...(attempt.incarnations ?? []).map(shortened),
      { ...ended(attempt, failed, { charged, judgement, now }), ...lastStepAt(record, facts) },
    ].slice(-MAX_ENDED_INCARNATIONS),
    resumedFrom,
    ...lossBeforeRestore(record),
    ...(passedOver.length === 0 ? {} : { passedOver: [...passedOver] }),
  };
  const failedAttempt = withLastAttempt(counted, { reason: failure.reason, charged, judgement });
  const delayMs = restartDelayMs(failedAttempt, facts.restartPolicy, freeInPods);
  return {
    ...counted,
    attempts: [...record.attempts.slice(0, -1), next],
    notBefore: new Date(now.getTime() + delayMs).toISOString(),
    // Status never shows a later step than the one that training resumes from.
    progress: undefined,
    checkpoint: { name: resumedFrom.checkpoint, step: resumedFrom.step },
  };
}

/** The pause before the ranks restart; undefined while they run. */
export function pauseInPods(record: JobRecord, facts: Facts): Wait | undefined {
  const attempt = liveAttempt(record);
  const last = attempt?.incarnations?.at(-1);
  if (attempt?.stage !== 'Released' || attempt.runningAt !== undefined || last === undefined) return undefined;
  const { reason, charged, judgement } = last;
  const freeInPods = freeInARow({ ...attempt, incarnations: attempt.incarnations?.slice(0, -1) });
  const failedAttempt = withLastAttempt(record, { reason, charged, judgement });
  const limitMs = restartDelayMs(failedAttempt, facts.restartPolicy, freeInPods);
  return { key: `e${attempt.epoch}i${attempt.incarnation ?? 1}/delay`, limitMs };
}

/**
 * Number of last incarnations that failed free of charge. Status keeps up to {@link MAX_ENDED_INCARNATIONS}. One that ended because a standby took
 * the place of a pod does not count: what failed is gone, and the number of standbys is limited.
 */
function freeInARow({ incarnations = [], replacements = [] }: Pick<Attempt, 'incarnations' | 'replacements'>): number {
  const isAnswered = ({ incarnation }: EndedIncarnation): boolean =>
    replacements.some((one) => one.incarnation === incarnation + 1);
  return incarnations.length - 1 - incarnations.findLastIndex((one) => one.charged || isAnswered(one));
}

/** Actions of a rule that need no new pods. */
const IN_PODS: readonly FailureJudgement['action'][] = ['Restart'];

/** Whether the pause is short enough to keep the pods; during a longer one the GPUs are given back. */
function isShort({ delayMs = 0 }: FailureJudgement, { restartPolicy }: Facts): boolean {
  return delayMs <= longestDelayMs(restartPolicy);
}

const MENDED_IN_PLACE: readonly Failure['reason'][] = ['EngineFailed', 'RendezvousPortLost'];

/** Whether restarting processes can help: the failure is one of processes, and the last such restart made progress. */
function isMended(attempt: Attempt, { failure, lastStep = -1 }: FailedAttempt): boolean {
  const before = attempt.incarnations?.at(-1);
  const isProgress = before === undefined || lastStep > (before.lastStep ?? -1);
  return MENDED_IN_PLACE.includes(failure.reason) && isProgress;
}

/** Whether no stop is requested, the Placement is known, and no preflight blames a node of the gang. */
function mayGoOn(facts: Facts, attempt: Attempt): boolean {
  const { preflight } = facts.observed;
  const named = preflight?.epoch === attempt.epoch ? preflight.named.nodes : [];
  if (podsOf(facts, attempt.epoch).some(({ nodeName = '' }) => named.includes(nodeName))) return false;
  return !(facts.deleting || facts.cancel || facts.suspend || placementOf(facts, attempt.epoch) === undefined);
}

/**
 * The checkpoint to resume from. Ranks in the same pods never begin from scratch, and a user's request begins a new epoch, which records
 * its answer.
 */
function pointOf(
  record: JobRecord,
  facts: Facts,
):
  | {
      readonly resumedFrom: NonNullable<Attempt['resumedFrom']>;
      readonly passedOver: readonly PassedOverCheckpoint[];
    }
  | undefined {
  const from = resumePointOf(record, facts);
  if (from.kind !== 'checkpoint' || from.answers !== undefined) return undefined;
  if (!loadsInPods(from.checkpoint, record, facts)) return undefined;
  const resumedFrom = resumedFromOf(from.checkpoint, facts.spec);
  // The pods mount the claim that their Placement names.
  const mounted = placementOf(facts, liveAttempt(record)?.epoch ?? 0)?.spec.resume?.claimName;
  if (resumedFrom.claimName !== undefined && resumedFrom.claimName !== mounted) return undefined;
  return { resumedFrom, passedOver: passedOverBy(from, record, { facts }) };
}

/** Whether the pods load it: their engine was started for one layout, and for one format of saves. */
function loadsInPods(checkpoint: Checkpoint, record: JobRecord, { spec }: Facts): boolean {
  const layout = liveAttempt(record)?.layout;
  const stated = spec && effectiveLayout(spec, record.plan);
  if (layout === undefined || stated === undefined) return true;
  const isOtherFormat = isUniversal(layout) && !isUniversal(layoutToLoad(stated, checkpoint.spec.format));
  return !isOtherFormat && describeLoadRefusal(recordedSave(checkpoint), layout) === undefined;
}

const MAX_MESSAGE_CHARACTERS = 1_000;

function ended(
  { incarnation = 1, runningAt, restoredAt, firstStep, clock, resumedFrom, memorySave }: Attempt,
  { failure, lastStep }: FailedAttempt,
  { charged, judgement, now }: Pick<Judged, 'charged' | 'judgement'> & { readonly now: Date },
): EndedIncarnation {
  return {
    incarnation,
    ...(runningAt === undefined ? {} : { runningAt }),
    ...(restoredAt === undefined ? {} : { restoredAt }),
    ...(firstStep === undefined ? {} : { firstStep }),
    ...(clock === undefined ? {} : { clock }),
    endedAt: now.toISOString(),
    reason: failure.reason,
    message: safeText(failure.message, MAX_MESSAGE_CHARACTERS),
    charged,
    ...(lastStep === undefined ? {} : { lastStep }),
    ...(resumedFrom === undefined ? {} : { resumedFrom }),
    ...(memorySave === undefined ? {} : { memorySave }),
    judgement,
    origin: originOfFailure(failure),
    lastLines: [...tracebackOf(failure.crash.lastLines)],
  };
}

/** An earlier incarnation without what status keeps for the newest one only (sentence, lines, saves): a job keeps 160 incarnations. */
function shortened({ lastLines: _, judgement, clock, ...rest }: EndedIncarnation): EndedIncarnation {
  return {
    ...rest,
    ...(judgement === undefined ? {} : { judgement: withoutSentence(judgement) }),
    ...(clock === undefined ? {} : { clock: withoutSaves(clock) }),
  };
}

function withoutSentence({ says: _, ...judgement }: FailureJudgement): FailureJudgement {
  return judgement;
}

function withoutSaves({ saves: _, ...marks }: RunClock): RunClock {
  return marks;
}
