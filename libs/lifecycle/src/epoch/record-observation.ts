import { type Attempt, type Checkpoint, isAdopted, memberCount, stepsOf } from '@coxswain/api-types';
import { recordRuntime } from '../disruption/max-runtime.ts';
import { safeText } from '@coxswain/safe-text';
import { checkpointFaultsOf, nodesToAvoid, verifiedCheckpointOf } from '../failure/checkpoint-trouble.ts';
import { type Facts, isLive, placementOf } from '../observation/facts.ts';
import { forgetAvoided, recordHangingPods, withAvoided } from '../failure/avoided-nodes.ts';
import { type Failure, failureOf } from '../failure/failure.ts';
import { originOfFailure } from '../failure/origin-of-failure.ts';
import { closeIncidents } from '../incident/close-incidents.ts';
import { recordHeldEnds } from '../incident/note-held-ends.ts';
import { recordFindings } from '../incident/note-findings.ts';
import { recordPassedSaves } from '../incident/note-passed-saves.ts';
import { withFailureNoted } from '../incident/note-failure.ts';
import { allPodsOf, missingPodNames, podsOf, uncreatedIndices } from '../observation/gang.ts';
import { isLeftBehind, isOfFence, launcherOf, pausedPods } from '../observation/incarnation.ts';
import type { ObservedPod, ObservedProgress } from '../observation/observed.ts';
import { recordEarlySave, recordEndOfEarlySave } from './early-save.ts';
import { failureToTrain } from './finished-work.ts';
import { recordGrowth } from './growth.ts';
import { lastStepOf, reportedStep } from './last-step.ts';
import { lostFields } from './lost-work.ts';
import { recordPriority } from './job-priority.ts';
import { MAX_LOST_EPOCHS } from './next-epoch.ts';
import { withNextIncarnation } from './next-incarnation.ts';
import { recordMakesRoom } from './make-room.ts';
import { recordEviction } from './record-eviction.ts';
import { recordClaim } from './record-claim.ts';
import { recordHeldGpus } from './record-held-gpus.ts';
import { recordLostStandbys } from './record-lost-standbys.ts';
import { recordMaxRuntime } from './record-max-runtime.ts';
import { recordMemorySave } from './record-memory-save.ts';
import { recordMove } from './record-move.ts';
import { recordPreflight } from './record-preflight.ts';
import { recordReturn } from './record-return.ts';
import { recordTrained } from './record-trained.ts';
import { withClock } from './run-clock.ts';
import { lastStepAt, recordMarks, withPace } from './run-marks.ts';
import { terminalOf } from './terminal-of.ts';
import { lostPlacement } from './unwritten-placement.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { judgeFailure } from '../failure/judge-failure.ts';
import { restartDelayMs } from '../failure/restart-budget.ts';
import { isUseless, newestUsable } from '../failure/resume-point.ts';
import { areCheckpointsDue, forgetMade, withRefusedKept } from '../failure/unmade-checkpoints.ts';

/** One thing that an observation may add to the record. Each step gets the record as the steps before it left it. */
type RecordStep = (record: JobRecord, facts: Facts, now: Date) => JobRecord;

/**
 * The steps, in the order of a job's life. An end that has happened (finished, failed) comes before an end that is requested, so that a
 * simultaneous cancel does not hide it.
 */
const RECORD_STEPS: readonly RecordStep[] = [
  forgetMade,
  recoverEpoch,
  recoverAnswer,
  recordNewestCheckpoint,
  recordPriority,
  recordLostPlacement,
  recordRelease,
  recordPreflight,
  recordTrained,
  recordRunning,
  recordLostStandbys,
  recordPassedSaves,
  recordProgress,
  recordMarks,
  recordFindings,
  recordHeldEnds,
  recordEarlySave,
  recordSuccess,
  recordFailure,
  recordMemorySave,
  recordCheckpointFaults,
  recordStopRequest,
  recordMaxRuntime,
  recordEviction,
  recordMakesRoom,
  recordMove,
  recordGrowth,
  recordHangingPods,
  forgetAvoided,
  recordEnd,
  recordRuntime,
  recordHeldGpus,
  recordEndOfEarlySave,
  recordTerminal,
  recordClaim,
  recordReturn,
  closeIncidents,
];

/** The record after this observation. A finished job's record is final, except for late checkpoints and GPUs of fenced pods. */
export function recordObservation(record: JobRecord, facts: Facts, now: Date): JobRecord {
  if (record.terminal !== undefined)
    return recordHeldGpus(recordNewestCheckpoint(forgetMade(record, facts), facts), facts, now);
  return RECORD_STEPS.reduce((current, step) => step(current, facts, now), record);
}

/**
 * Recovers the epoch number of a lost or rolled-back status from pods, so that no epoch is reused. Beside live pods of the recorded epoch
 * nothing was lost, because an attempt begins after the previous one is gone: later pods are then forged.
 */
function recoverEpoch(record: JobRecord, facts: Facts): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt !== undefined && allPodsOf(facts, attempt.epoch).some((pod) => isLive(facts, pod))) return record;
  const epochs = facts.pods.map((pod) => pod.epoch).filter((epoch) => epoch <= record.epoch + MAX_LOST_EPOCHS);
  return { ...record, epoch: Math.max(record.epoch, ...epochs) };
}

/**
 * Like {@link recoverEpoch}, for `spec.resumeFrom`. A job with checkpoints and without a recorded attempt has lost its status, so it has
 * answered the request before. Following it again could discard everything trained since.
 */
function recoverAnswer(record: JobRecord, facts: Facts): JobRecord {
  const asked = facts.spec?.resumeFrom;
  const isLost = record.attempts.length === 0 && record.resumeFrom === undefined && facts.checkpoints.some(isOwn);
  return isLost && asked !== undefined ? { ...record, resumeFrom: { ...asked, epoch: 0 } } : record;
}

function isOwn(checkpoint: Checkpoint): boolean {
  return !isAdopted(checkpoint);
}

/**
 * The checkpoint that the job would resume from. An unobserved one stays, because a cache may lag. One that is unusable is replaced by the
 * newest usable one, so that status never names a step that nothing resumes from.
 */
function recordNewestCheckpoint(record: JobRecord, facts: Facts): JobRecord {
  const { checkpoint: present } = record;
  const newest = newestUsable(record, facts);
  const isStale = present !== undefined && isUseless(present.name, record, facts);
  if (!isStale && (newest?.spec.step ?? -1) <= (present?.step ?? -1)) return record;
  return {
    ...record,
    checkpoint: newest === undefined ? undefined : { name: newest.metadata.name, step: newest.spec.step },
  };
}

/** The attempt's Placement is gone and cannot be recreated, or its GPUs are taken: no gate was lifted, so nothing has run. */
function recordLostPlacement(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const failure = lostPlacement(record, facts);
  return failure === undefined ? record : withFailure(record, { failure, facts, now });
}

/** Recorded before the first gate is lifted; from then on a missing pod is a failure. */
function recordRelease(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Creating' || placementOf(facts, attempt.epoch) === undefined) return record;
  if (uncreatedIndices(facts, attempt).length > 0 || isStopRequested(facts)) return record;
  if (podsOf(facts, attempt.epoch).some((pod) => pod.deletionTimestamp !== undefined)) return record;
  return withLastAttempt(record, { stage: 'Released', releasedAt: now.toISOString() });
}

function recordRunning(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released' || attempt.runningAt !== undefined || !isComplete(facts, attempt)) return record;
  const isUp =
    (attempt.incarnation ?? 1) > 1
      ? runsAgain(facts, attempt) || trainsAgain(facts, attempt)
      : podsOf(facts, attempt.epoch).every((pod) => pod.running || pod.phase === 'Succeeded');
  return isUp ? withLastAttempt(record, { runningAt: now.toISOString() }) : record;
}

/** Whether every launcher reports the current incarnation, and no pod ended before it could. */
function runsAgain(facts: Facts, attempt: Attempt): boolean {
  const isBehind = podsOf(facts, attempt.epoch).some((pod) => isLeftBehind(facts, pod, attempt));
  return !isBehind && pausedPods(facts, attempt).length === 0;
}

/** Whether a step of the current incarnation was reported; a step needs every rank. */
function trainsAgain({ observed: { progress } }: Facts, attempt: Attempt): boolean {
  return progress !== undefined && isOfFence(progress, attempt);
}

/** Shortest time between two writes of a job's progress. */
export const PROGRESS_INTERVAL_MS = 15_000;

/** Writes progress once per interval, and with the end of an attempt, which is written anyway. */
function recordProgress(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt === undefined || !hasFreshProgress(record, facts)) return record;
  const isEnding = isFinished(facts, attempt) || failureOf(facts, attempt) !== undefined;
  return isEnding || progressDueMs(record, now) <= 0 ? withProgress(record, facts, now) : record;
}

/** Whether the operator holds a later step in memory than the status. */
export function hasFreshProgress(record: JobRecord, facts: Facts): boolean {
  const { progress } = facts.observed;
  const attempt = liveAttempt(record);
  if (progress === undefined || attempt === undefined || !isOfFence(progress, attempt)) return false;
  return progress.step > (record.progress?.step ?? -1);
}

/** Milliseconds until progress may be written again; 0 or less: now. A recorded time in the future counts as now. */
export function progressDueMs(record: JobRecord, now: Date): number {
  const sinceMs = now.getTime() - Date.parse(record.progress?.reportedAt ?? '');
  return sinceMs >= 0 ? PROGRESS_INTERVAL_MS - sinceMs : 0;
}

function withProgress(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const { progress } = facts.observed;
  if (progress === undefined) return record;
  return withClock(withPace({ ...record, progress: progressOf(progress, facts, now) }, facts), facts);
}

function progressOf(progress: ObservedProgress, facts: Facts, now: Date): NonNullable<JobRecord['progress']> {
  const { step, loss, tokensPerSecond, etaSeconds } = progress;
  const totalSteps = facts.spec === undefined ? undefined : stepsOf(facts.spec);
  return {
    step,
    ...(totalSteps === undefined ? {} : { totalSteps }),
    ...(isFiniteNumber(loss) ? { loss } : {}),
    ...(isFiniteNumber(tokensPerSecond) ? { tokensPerSecond } : {}),
    ...(isFiniteNumber(etaSeconds) ? { etaSeconds: Math.max(0, Math.round(etaSeconds)) } : {}),
    reportedAt: now.toISOString(),
  };
}

function recordSuccess(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released' || !isFinished(facts, attempt) || areCheckpointsDue(record, facts)) return record;
  const failure = failureToTrain(record, facts, attempt);
  if (failure !== undefined) return withFailure(withRefusedKept(record, facts), { failure, facts, now });
  const at = now.toISOString();
  const isOver = !allPodsOf(facts, attempt.epoch).some((pod) => isLive(facts, pod));
  return withLastAttempt(withRefusedKept(record, facts), {
    // Its standbys do not end by themselves.
    ...(isOver ? { stage: 'Ended', endedAt: at } : { stage: 'Stopping' }),
    runningAt: attempt.runningAt ?? at,
    stoppingAt: at,
    outcome: 'Succeeded',
    ...lastStepOf(record, facts),
    ...lastStepAt(record, facts),
  });
}

/** Records outcome, reason, message and answer of a failure, once, before the first pod is deleted. */
function recordFailure(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt === undefined || attempt.stage === 'Stopping' || isStoppedUnrecorded(facts, attempt)) return record;
  const failure = failureOf(facts, attempt);
  if (failure === undefined || hasUnrecordedSaves(record, facts)) return record;
  const lastStep = lastStepOfFailure(record, { failure, facts });
  const marked = withClock(record, facts);
  return (
    withNextIncarnation(withRefusedKept(marked, facts), { failure, ...lastStep }, { facts, now }) ??
    withFailure(marked, { failure, facts, now })
  );
}

/**
 * Whether a running launcher reports a save that has no object yet. The next incarnation resumes from it, and reports of the last one are
 * rejected then.
 */
function hasUnrecordedSaves(record: JobRecord, facts: Facts): boolean {
  const attempt = liveAttempt(record);
  const haveReportedSaves =
    attempt !== undefined && podsOf(facts, attempt.epoch).some((pod) => hasSaves(facts, pod, attempt));
  return haveReportedSaves && areCheckpointsDue(record, facts);
}

function hasSaves(facts: Facts, pod: ObservedPod, attempt: Attempt): boolean {
  return (launcherOf(facts, pod, attempt)?.cause?.unreportedCheckpoints.length ?? 0) > 0;
}

/** The newest known step of the gang; later saves are behind the fence. */
function lastStepOfFailure(
  record: JobRecord,
  { failure, facts }: { failure: Failure; facts: Facts },
): { readonly lastStep?: number } {
  const { lastStep = -1 } = lastStepOf(record, facts);
  const newest = Math.max(lastStep, failure.lastStep ?? -1);
  return newest < 0 ? {} : { lastStep: newest };
}

function withFailure(
  record: JobRecord,
  { failure, facts, now }: { failure: Failure; facts: Facts; now: Date },
): JobRecord {
  const lastStep = lastStepOfFailure(record, { failure, facts });
  const failed = { failure, ...lastStep };
  const judged = judgeFailure(record, failed, { facts, now });
  const { answer, charged, judgement, failures, avoid } = judged;
  const noted = withFailureNoted(record, { ...failed, judged, inPods: false }, { facts, now });
  const avoiding = avoid === undefined ? noted : withAvoided(noted, { ...avoid, epoch: record.epoch }, facts, now);
  const ended = withLastAttempt(avoiding, {
    stage: 'Stopping',
    stoppingAt: now.toISOString(),
    outcome: 'Failed',
    reason: failure.reason,
    message: safeText(failure.message, 8_000),
    origin: originOfFailure(failure),
    ...lastStep,
    ...lastStepAt(record, facts),
    ...verifiedOf(record, facts),
  });
  const answered = { ...withLastAttempt(ended, { answer, charged, judgement }), failures };
  if (answer === 'GiveUp') return answered;
  const restarts = { total: record.restarts.total + 1, charged: record.restarts.charged + (charged ? 1 : 0) };
  const delayMs = restartDelayMs({ ...answered, restarts }, facts.restartPolicy);
  return { ...answered, restarts, notBefore: new Date(now.getTime() + delayMs).toISOString() };
}

/** The suspect checkpoint for which the live attempt ends, because it verified. */
function verifiedOf(record: JobRecord, facts: Facts): Pick<Attempt, 'verifiedCheckpoint'> {
  const attempt = liveAttempt(record);
  const verifiedCheckpoint = attempt === undefined ? undefined : verifiedCheckpointOf(facts, attempt);
  return verifiedCheckpoint === undefined ? {} : { verifiedCheckpoint };
}

/**
 * Records checkpoint faults with the failure and until the gang is gone, because the first pod to fail is seldom the only one with a
 * report.
 */
function recordCheckpointFaults(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.outcome !== 'Failed') return record;
  const checkpointFaults = [...checkpointFaultsOf(facts, attempt)];
  if (checkpointFaults.length === (attempt.checkpointFaults?.length ?? 0)) return record;
  const { epoch } = attempt;
  const isAvoided = (name: string, why: string): boolean =>
    record.avoidedNodes.some(({ node, reason, ...of }) => node === name && of.epoch === epoch && reason === why);
  const avoiding = nodesToAvoid(facts, { ...attempt, checkpointFaults }).reduce((current, { nodes, reason }) => {
    const unknown = nodes.filter((node) => !isAvoided(node, reason));
    return withAvoided(current, { nodes: unknown, reason, epoch }, facts, now);
  }, record);
  return withLastAttempt(avoiding, { checkpointFaults });
}

/** Records a requested stop. Delete wins over cancel, and cancel over suspend; the gang saves and stops for each. */
function recordStopRequest(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt === undefined || attempt.stage === 'Stopping' || !isStopRequested(facts)) return record;
  const forGood = facts.deleting || facts.cancel;
  return withLastAttempt(record, {
    stage: 'Stopping',
    stoppingAt: now.toISOString(),
    outcome: forGood ? 'Cancelled' : 'Suspended',
    reason: forGood ? 'CancelRequested' : 'SuspendRequested',
    charged: false,
    ...lastStepOf(record, facts),
  });
}

function recordEnd(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Stopping') return record;
  const pods = allPodsOf(facts, attempt.epoch);
  if (pods.some((pod) => isLive(facts, pod))) return record;
  // A pod that the cache lacks may have been created a moment ago; only a live read shows that it is gone.
  if (!facts.isProven && missingPodNames(facts, attempt).some((name) => !facts.foreignPodNames.has(name)))
    return record;
  if (areCheckpointsDue(record, facts)) return record;
  const lastStep = Math.max(attempt.lastStep ?? -1, ...pods.map((pod) => reportedStep(pod, attempt)));
  const kept = withRefusedKept(record, facts);
  const last = lastStep < 0 ? {} : { lastStep };
  return withLastAttempt(kept, {
    stage: 'Ended',
    endedAt: now.toISOString(),
    ...last,
    ...lastStepAt(record, facts),
    ...lostFields(kept, facts, { ...attempt, ...last }),
  });
}

function recordTerminal(record: JobRecord, facts: Facts, now: Date): JobRecord {
  if (liveAttempt(record) !== undefined) return record;
  const terminal = terminalOf(record, facts, now);
  return terminal === undefined ? record : { ...record, terminal, notBefore: undefined };
}

/** Whether the whole gang was deleted because a stop is requested, before the stop could be recorded: its exits are no failures. */
function isStoppedUnrecorded(facts: Facts, attempt: Attempt): boolean {
  if (!isStopRequested(facts) || !isComplete(facts, attempt)) return false;
  return podsOf(facts, attempt.epoch).every((pod) => pod.deletionTimestamp !== undefined);
}

function isStopRequested(facts: Facts): boolean {
  return facts.deleting || facts.cancel || facts.suspend;
}

/** Whether every pod with ranks of the attempt is observed. */
function isComplete(facts: Facts, attempt: Attempt): boolean {
  const pods = podsOf(facts, attempt.epoch);
  const placement = placementOf(facts, attempt.epoch);
  return pods.length > 0 && pods.length >= (placement === undefined ? pods.length : memberCount(placement.spec));
}

function isFinished(facts: Facts, attempt: Attempt): boolean {
  return isComplete(facts, attempt) && podsOf(facts, attempt.epoch).every((pod) => pod.phase === 'Succeeded');
}

function isFiniteNumber(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value);
}
