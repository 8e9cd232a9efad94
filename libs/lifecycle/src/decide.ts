import type { TrainingJobStatus } from '@coxswain/api-types';
import type { Acceptance } from './acceptance.ts';
import { actionsOf } from './actions-of.ts';
import { isRecordedAs } from './bare-status.ts';
import type { Decision } from './decision.ts';
import { fencedAt } from './facts.ts';
import { schedulingDeadline } from './failure.ts';
import { eventsSince } from './job-events.ts';
import { liveAttempt, recordOf } from './job-record.ts';
import { lettingGo } from './letting-go.ts';
import { needsProof, readLive } from './proof.ts';
import type { NextEpoch } from './next-epoch.ts';
import type { Observed } from './observed.ts';
import { hasFreshProgress, progressDueAt } from './record-observation.ts';
import { type Situation, situationOf } from './situation.ts';
import { statusOf } from './status-of.ts';

/**
 * What is to be done about a job, from one look at it. Level-triggered and pure: the same look gives the same decision, and nothing
 * depends on which change led here. Never throws, whatever the resource holds.
 *
 * A job's life, as far as it is recorded:
 *
 *     (epoch n) --Placement n+1 exists--> Creating --all pods exist--> Released --all exit 0--> Ended (Complete)
 *                                            |                            |
 *                                            +---- failure, suspend, cancel, delete ----> Stopping --pods gone--> Ended
 *                                                                                                               |
 *     (epoch n+1) <--- next Placement, when the budget, the delay, the spec and the capacity allow <------------+
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
  return { ...provenOrAsked(situation, observed), ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }) };
}

/** What does harm is not even recorded before it is proven. */
function provenOrAsked(situation: Situation, observed: Observed): Omit<Decision, 'requeueAfterMs'> {
  const status = statusOf(situation);
  const actions = actionsOf(situation);
  const before = recordOf(observed.job);
  const isRecorded = isRecordedAs(observed.job.status, status);
  if (situation.facts.isProven || !needsProof(situation, { before, actions, isRecorded })) {
    return { status, actions, withoutRecord: lettingGo(situation), events: announced(observed, status) };
  }
  const unchanged = observed.job.status ?? statusOf({ ...situation, record: before });
  return { status: unchanged, actions: [readLive(situation)], withoutRecord: [], events: [] };
}

function announced(observed: Observed, status: TrainingJobStatus): Decision['events'] {
  if (isRecordedAs(observed.job.status, status)) return [];
  return eventsSince(observed.job.status, { ...observed, job: { ...observed.job, status } });
}

/** A job that waits for room is looked at again this often even if nothing is observed; nothing is written as long as it waits. */
const WAITING_LOOK_MS = 30_000;

const WAITING: readonly NextEpoch['kind'][] = ['waiting', 'unsatisfiable', 'unplanned', 'planning'];

/** What the planner refuses on these nodes it may plan on others. */
function isRefusedByPlanner(acceptance: Acceptance): boolean {
  return acceptance.kind === 'refused' && acceptance.reason === 'NoLayoutFits';
}

/** How long until something changes by time alone; undefined when only an observation can. */
function nextLookMs({ record, facts, planning, acceptance, next, now }: Situation): number | undefined {
  const attempt = liveAttempt(record);
  const isUnscheduled = attempt?.stage === 'Released' && attempt.runningAt === undefined;
  const dueMs = [
    next.kind === 'delayed' ? next.untilMs : [],
    WAITING.includes(next.kind) || (next.kind === 'refused' && isRefusedByPlanner(acceptance))
      ? now.getTime() + WAITING_LOOK_MS
      : [],
    planning.kind === 'askingLater' ? planning.atMs : [],
    isUnscheduled && Number.isFinite(schedulingDeadline(attempt)) ? schedulingDeadline(attempt) : [],
    attempt !== undefined && hasFreshProgress(record, facts) ? progressDueAt(record) : [],
    facts.pods.flatMap((pod) => fencedAt(facts, pod) ?? []),
  ].flat();
  const futureMs = dueMs.map((due) => due - now.getTime()).filter((ms) => ms > 0);
  return futureMs.length === 0 ? undefined : Math.min(...futureMs);
}
