import { API_GROUP_VERSION, type Placement, type TrainingJobStatus } from '@coxswain/api-types';
import type { Acceptance } from '../epoch/acceptance.ts';
import { actionsOf } from './actions-of.ts';
import { isRecordedAs } from '../record/bare-status.ts';
import type { Action, Decision } from './decision.ts';
import { earlySaveDueMs } from '../epoch/early-save.ts';
import type { UnwrittenPlacement } from '../observation/facts.ts';
import { eventsSince } from './job-events.ts';
import { liveAttempt, recordOf } from '../record/job-record.ts';
import { finalizerActions } from './finalizer-actions.ts';
import { hasLostStatus, needsCheckpoints, needsEvidence, needsProof, readLive, unreadJobs } from './proof.ts';
import type { NextEpoch } from '../epoch/next-epoch.ts';
import type { Observed } from '../observation/observed.ts';
import { silentPod, warningDueMs } from '../observation/silent-pods.ts';
import { unusableReadMs } from '../observation/reference-standing.ts';
import { isRuntimeUnknown } from '../epoch/runtime-standing.ts';
import { needsRuntime } from '../epoch/unwritten-placement.ts';
import { silenceDueMs } from '../failure/lost-nodes.ts';
import { ARBITER_SETTINGS } from '../arbiter/settings.ts';
import { maxRuntimeDueMs } from '../disruption/max-runtime.ts';
import { heldEnds } from '../disruption/held-ends.ts';
import { checkpointRetriesMs } from '../failure/unmade-checkpoints.ts';
import { hasFreshProgress, progressDueMs } from '../epoch/record-observation.ts';
import { type Situation, situationOf } from './situation.ts';
import { describeUnrecordedPlacements } from './unrecorded-placements.ts';
import { statusOf } from './status-of.ts';
import { unrecordedActions } from './unrecorded-actions.ts';
import { remainingMs } from '../observation/waits.ts';
import { waitsOf } from './waits-of.ts';

/**
 * Decides what to do about a job from one observation of it. Pure and level-triggered: the same observation gives the same decision, and
 * nothing depends on which change led here. Never throws, whatever the resource holds.
 *
 * The recorded life of a job:
 *
 *     (epoch n) --placed--> Creating --Placement and all pods exist--> Released --all exit 0--> Ended (Complete)
 *                              |                                          |
 *                              +------- failure, suspend, cancel, delete -+--> Stopping --pods gone--> Ended
 *                                                                                                        |
 *     (epoch n+1) <--- placed again, when the budget, the delay, the spec and the capacity allow <-------+
 *
 * The write that records a new attempt also records the hash of its Placement. The Placement is created afterwards, and no other Placement
 * is valid.
 *
 * Planning takes seconds, so it is an action like the others. `planJob` asks the planner, a later observation holds its answer, and the
 * answer is recorded before any placement. After a crash in between, the planner is asked again and gives the same answer.
 *
 * Each arrow is one write of status. What follows from it is done only after that write (see `Decision`). So a crash between any two writes
 * leaves a state from which the same arrows continue.
 */
export function decide(observed: Observed, now: Date): Decision {
  const situation = situationOf(observed, now);
  const requeueAfterMs = requeueDelayMs(situation);
  const unrecordedPlacements = describeUnrecordedPlacements(situation);
  return {
    ...verifiedDecision(situation, observed),
    timed: timedBy(situation, observed),
    ...refusalOf(situation.next),
    ...(unrecordedPlacements === undefined ? {} : { unrecordedPlacements }),
    ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }),
  };
}

function refusalOf(next: NextEpoch): Pick<Decision, 'refusal'> {
  if ((next.kind !== 'waiting' && next.kind !== 'unsatisfiable') || next.refused === undefined) return {};
  return { refusal: { request: next.refused, refusal: { kind: next.kind, message: next.message } } };
}

/**
 * Keys of the waits of the recorded state and of the decided one. Both are timed, because the decision may need proof first, or another
 * writer may come first.
 */
function timedBy(situation: Situation, { job }: Observed): readonly string[] {
  const waits = [...waitsOf({ ...situation, record: recordOf(job) }), ...waitsOf(situation)];
  return [...new Set(waits.map(({ key }) => key))];
}

/**
 * Returns the decision, or the live read that must verify it first. A harmful change is not even recorded before the API server has
 * confirmed its grounds.
 */
function verifiedDecision(
  situation: Situation,
  observed: Observed,
): Omit<Decision, 'requeueAfterMs' | 'timed' | 'refusal' | 'unrecordedPlacements'> {
  const status = statusOf(situation);
  const actions = actionsOf(situation);
  const before = recordOf(observed.job);
  const isRecorded = isRecordedAs(observed.job.status, status);
  const { unwritten } = situation.facts;
  // The pods of a released gang hold its GPUs themselves.
  const isReserved = liveAttempt(situation.record)?.stage === 'Creating';
  const reservation = {
    ...(unwritten === undefined || !isReserved ? {} : { reserve: unwritten.spec }),
    ...(situation.claimed === undefined ? {} : { claims: situation.claimed.spec }),
  };
  const asked = whatToRead(situation, { before, actions, isRecorded });
  if (asked === undefined) {
    const withoutRecord = finalizerActions(situation);
    const unrecorded = isRecorded ? [] : unrecordedActions(situation, before);
    return { status, ...reservation, actions, withoutRecord, unrecorded, events: newEvents(situation, status) };
  }
  const unchanged = observed.job.status ?? statusOf({ ...situation, record: before });
  const first = hasLostStatus(situation.facts) ? { readsFirst: true as const } : {};
  return {
    status: unchanged,
    ...first,
    ...reservation,
    actions: [asked],
    withoutRecord: [],
    unrecorded: [],
    events: [],
  };
}

function whatToRead(situation: Situation, decided: Parameters<typeof needsProof>[1]): Action | undefined {
  // Checkpoints first, because a live read of the gang is valid for the next decision only.
  if (needsCheckpoints(situation, decided)) return { kind: 'readCheckpoints' };
  const isProven =
    situation.facts.isProven &&
    !needsEvidence(situation, decided.before) &&
    unreadJobs(situation, decided.before).length === 0;
  return !isProven && needsProof(situation, decided) ? readLive(situation, decided.before) : undefined;
}

function newEvents({ facts }: Situation, status: TrainingJobStatus): Decision['events'] {
  const { observed, job, unwritten } = facts;
  if (isRecordedAs(job.status, status)) return [];
  const placements = unwritten === undefined ? observed.placements : [...observed.placements, asPlacement(unwritten)];
  return eventsSince(job.status, { ...observed, placements, job: { ...job, status } });
}

function asPlacement({ name, spec }: UnwrittenPlacement): Placement {
  return { apiVersion: API_GROUP_VERSION, kind: 'Placement', metadata: { name, uid: '' }, spec };
}

/** A job that waits for room is reconciled this often even if nothing changes. Nothing is written while it waits. */
const WAITING_REQUEUE_MS = 30_000;
/** All jobs that wait for GPUs are together reconciled so often a second, and each in five minutes: what changes their turn wakes them. */
const GPU_REQUEUES_PER_S = 20;
const LONGEST_GPU_REQUEUE_MS = 300_000;

const WAITING: readonly NextEpoch['kind'][] = [
  'waiting',
  'unsatisfiable',
  'unplanned',
  'planning',
  'podsRefused',
  'readingRuntime',
  'readingRuntimeAgain',
  'choosingNodes',
  'converting',
  'priorityClassMissing',
  'waitingForQuota',
];

/** Whether a refused spec may be accepted later: the planner may accept other nodes, and a runtime may be created or changed. */
function mayBeAccepted(acceptance: Acceptance): boolean {
  return acceptance.kind === 'refused' && ['NoLayoutFits', 'RuntimeRefused'].includes(acceptance.reason);
}

/** Only a job that waits for GPUs waits longer if many do: what another job waits for may wake it in no other way. */
function waitingRequeueMs({ next, facts: { observed } }: Situation): number {
  if (next.kind !== 'waiting' && next.kind !== 'unsatisfiable') return WAITING_REQUEUE_MS;
  const shareMs = ((observed.waitingCount?.() ?? 0) * 1_000) / GPU_REQUEUES_PER_S;
  return Math.min(LONGEST_GPU_REQUEUE_MS, Math.max(WAITING_REQUEUE_MS, shareMs));
}

/** How long until time alone changes the decision; undefined if only a new observation can. */
function requeueDelayMs(situation: Situation): number | undefined {
  const { record, facts, planning, acceptance, next, now } = situation;
  const attempt = liveAttempt(record);
  const isWaiting =
    WAITING.includes(next.kind) ||
    (next.kind === 'refused' && mayBeAccepted(acceptance)) ||
    (isRuntimeUnknown(facts) && needsRuntime(record, facts));
  const dueMs = [
    isWaiting ? waitingRequeueMs(situation) : [],
    attempt === undefined || silentPod(facts, attempt) === undefined ? [] : (warningDueMs(facts) ?? []),
    next.kind === 'objectMissing' ? unusableReadMs(facts) : [],
    planning.kind === 'askingLater' ? planning.atMs - now.getTime() : [],
    attempt !== undefined && hasFreshProgress(record, facts) ? progressDueMs(record, now) : [],
    attempt === undefined ? [] : (silenceDueMs(facts, attempt) ?? []),
    checkpointRetriesMs(record, facts),
    earlySaveDueMs(record, facts, now) ?? [],
    maxRuntimeDueMs(record, facts, now),
    heldEnds(record, facts, now).length > 0 ? ARBITER_SETTINGS.judgeAgainMs : [],
    waitsOf(situation).map((wait) => remainingMs(facts, wait)),
  ].flat();
  const futureMs = dueMs.filter((ms) => ms > 0);
  return futureMs.length === 0 ? undefined : Math.min(...futureMs);
}
