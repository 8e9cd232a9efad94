import { API_GROUP_VERSION, type Placement, type TrainingJobStatus } from '@coxswain/api-types';
import type { Acceptance } from '../epoch/acceptance.ts';
import { actionsOf } from './actions-of.ts';
import { isRecordedAs } from '../record/bare-status.ts';
import type { Action, Decision } from './decision.ts';
import { earlySaveDueMs } from '../epoch/early-save.ts';
import type { UnwrittenPlacement } from '../observation/facts.ts';
import { eventsSince } from './job-events.ts';
import { liveAttempt, recordOf } from '../record/job-record.ts';
import { lettingGo } from './finalizer-actions.ts';
import { hasLostStatus, needsCheckpoints, needsProof, readLive } from './proof.ts';
import type { NextEpoch } from '../epoch/next-epoch.ts';
import type { Observed } from '../observation/observed.ts';
import { isRuntimeUnknown } from '../epoch/runtime-standing.ts';
import { needsRuntime } from '../epoch/unwritten-placement.ts';
import { silenceDueMs } from '../failure/lost-nodes.ts';
import { checkpointRetriesMs } from '../failure/unmade-checkpoints.ts';
import { hasFreshProgress, progressDueMs } from '../epoch/record-observation.ts';
import { type Situation, situationOf } from './situation.ts';
import { strangersOf } from './unrecorded-placements.ts';
import { statusOf } from './status-of.ts';
import { remainingMs } from '../observation/waits.ts';
import { waitsOf } from './waits-of.ts';

/**
 * What is to be done about a job, from one look at it. Level-triggered and pure: the same look gives the same decision, and nothing
 * depends on which change led here. Never throws, whatever the resource holds.
 *
 * A job's life, as far as it is recorded:
 *
 *     (epoch n) --placed--> Creating --Placement and all pods exist--> Released --all exit 0--> Ended (Complete)
 *                              |                                          |
 *                              +------- failure, suspend, cancel, delete -+--> Stopping --pods gone--> Ended
 *                                                                                                        |
 *     (epoch n+1) <--- placed again, when the budget, the delay, the spec and the capacity allow <-------+
 *
 * What records that an attempt begins records the hash of its Placement too: that one is created afterwards, and no other one counts.
 *
 * Planning takes seconds, so it is an action like the others: `planJob` asks the planner, a later look shows its answer among what is observed,
 * and the answer is recorded before any placement. A crash in between means that it is asked again, with the same answer.
 *
 * Each arrow is one write of status, and what follows from it is done only after that write (`Decision` says how). So a crash between any
 * two writes leaves a state from which the same arrows lead on.
 */
export function decide(observed: Observed, now: Date): Decision {
  const situation = situationOf(observed, now);
  const requeueAfterMs = nextLookMs(situation);
  const strangers = strangersOf(situation);
  return {
    ...provenOrAsked(situation, observed),
    timed: timedBy(situation, observed),
    ...refusalOf(situation.next),
    ...(strangers === undefined ? {} : { strangers }),
    ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }),
  };
}

function refusalOf(next: NextEpoch): Pick<Decision, 'refusal'> {
  if ((next.kind !== 'waiting' && next.kind !== 'unsatisfiable') || next.refused === undefined) return {};
  return { refusal: { request: next.refused, refusal: { kind: next.kind, message: next.message } } };
}

/** What lasts as recorded, and as it is to be recorded: what is decided may have to be proven first, or somebody else may write before us. */
function timedBy(situation: Situation, { job }: Observed): readonly string[] {
  const waits = [...waitsOf({ ...situation, record: recordOf(job) }), ...waitsOf(situation)];
  return [...new Set(waits.map(({ key }) => key))];
}

/** What does harm is not even recorded before it is proven. */
function provenOrAsked(
  situation: Situation,
  observed: Observed,
): Omit<Decision, 'requeueAfterMs' | 'timed' | 'refusal' | 'strangers'> {
  const status = statusOf(situation);
  const actions = actionsOf(situation);
  const before = recordOf(observed.job);
  const isRecorded = isRecordedAs(observed.job.status, status);
  const { unwritten } = situation.facts;
  // Of a gang that is released its pods hold the GPUs.
  const isReserved = liveAttempt(situation.record)?.stage === 'Creating';
  const reservation = unwritten === undefined || !isReserved ? {} : { reserve: unwritten.spec };
  const asked = whatToRead(situation, { before, actions, isRecorded });
  if (asked === undefined) {
    const withoutRecord = lettingGo(situation);
    return { status, ...reservation, actions, withoutRecord, events: announced(situation, status) };
  }
  const unchanged = observed.job.status ?? statusOf({ ...situation, record: before });
  const first = hasLostStatus(situation.facts) ? { readsFirst: true as const } : {};
  return { status: unchanged, ...first, ...reservation, actions: [asked], withoutRecord: [], events: [] };
}

function whatToRead(situation: Situation, decided: Parameters<typeof needsProof>[1]): Action | undefined {
  // Checkpoints first: a live read of the gang is good for the very next decision alone.
  if (needsCheckpoints(situation, decided)) return { kind: 'readCheckpoints' };
  return !situation.facts.isProven && needsProof(situation, decided) ? readLive(situation, decided.before) : undefined;
}

function announced({ facts }: Situation, status: TrainingJobStatus): Decision['events'] {
  const { observed, job, unwritten } = facts;
  if (isRecordedAs(job.status, status)) return [];
  const placements = unwritten === undefined ? observed.placements : [...observed.placements, asPlacement(unwritten)];
  return eventsSince(job.status, { ...observed, placements, job: { ...job, status } });
}

function asPlacement({ name, spec }: UnwrittenPlacement): Placement {
  return { apiVersion: API_GROUP_VERSION, kind: 'Placement', metadata: { name, uid: '' }, spec };
}

/** A job that waits for room is looked at again this often even if nothing is observed; nothing is written as long as it waits. */
const WAITING_LOOK_MS = 30_000;

const WAITING: readonly NextEpoch['kind'][] = [
  'waiting',
  'unsatisfiable',
  'unplanned',
  'planning',
  'podsRefused',
  'readingRuntime',
  'readingRuntimeAgain',
  'choosingNodes',
];

/** What the planner refuses on these nodes it may plan on others, and a runtime may be made or changed. */
function mayBeAccepted(acceptance: Acceptance): boolean {
  return acceptance.kind === 'refused' && ['NoLayoutFits', 'RuntimeRefused'].includes(acceptance.reason);
}

/** How long until something changes by time alone; undefined when only an observation can. */
function nextLookMs(situation: Situation): number | undefined {
  const { record, facts, planning, acceptance, next, now } = situation;
  const attempt = liveAttempt(record);
  const isWaiting =
    WAITING.includes(next.kind) ||
    (next.kind === 'refused' && mayBeAccepted(acceptance)) ||
    (isRuntimeUnknown(facts) && needsRuntime(record, facts));
  const dueMs = [
    isWaiting ? WAITING_LOOK_MS : [],
    planning.kind === 'askingLater' ? planning.atMs - now.getTime() : [],
    attempt !== undefined && hasFreshProgress(record, facts) ? progressDueMs(record, now) : [],
    attempt === undefined ? [] : (silenceDueMs(facts, attempt) ?? []),
    checkpointRetriesMs(record, facts),
    earlySaveDueMs(record, facts, now) ?? [],
    waitsOf(situation).map((wait) => remainingMs(facts, wait)),
  ].flat();
  const futureMs = dueMs.filter((ms) => ms > 0);
  return futureMs.length === 0 ? undefined : Math.min(...futureMs);
}
