import type { TrainingJobStatus } from '@coxswain/api-types';
import { actionsOf } from './actions-of.ts';
import type { Decision } from './decision.ts';
import { statusOf } from './status-of.ts';
import { type Facts, factsOf, fencedAt } from './facts.ts';
import { schedulingDeadline } from './failure.ts';
import { eventsSince } from './job-events.ts';
import { type NextEpoch, nextEpoch } from './next-epoch.ts';
import type { Observed } from './observed.ts';
import { hasFreshProgress, progressDueAt, recordObservation } from './record-observation.ts';
import { type JobRecord, liveAttempt, recordOf } from './job-record.ts';
import { sameStatus } from './same-status.ts';

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
 * Each arrow is one write of status, and what follows from it is done only after that write (`Decision` says how). So a crash between any
 * two writes leaves a state from which the same arrows lead on.
 */
export function decide(observed: Observed, now: Date): Decision {
  const facts = factsOf(observed);
  const record = recordObservation(recordOf(facts.job), facts, now);
  const next = nextEpoch(record, facts, now);
  const status = statusOf(record, { facts, next, now });
  const requeueAfterMs = nextLookMs({ record, facts, next, now });
  return {
    status,
    actions: actionsOf({ record, facts, next, now }),
    events: announced(observed, status),
    ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }),
  };
}

function announced(observed: Observed, status: TrainingJobStatus): Decision['events'] {
  if (sameStatus(observed.job.status, status)) return [];
  return eventsSince(observed.job.status, { ...observed, job: { ...observed.job, status } });
}

/** A job that waits for room is looked at again this often even if nothing is observed; nothing is written as long as it waits. */
const WAITING_LOOK_MS = 30_000;

/** How long until something changes by time alone; undefined when only an observation can. */
function nextLookMs(situation: {
  readonly record: JobRecord;
  readonly facts: Facts;
  readonly next: NextEpoch;
  readonly now: Date;
}): number | undefined {
  const { record, facts, next, now } = situation;
  const attempt = liveAttempt(record);
  const isUnscheduled = attempt?.stage === 'Released' && attempt.runningAt === undefined;
  const dueMs = [
    next.kind === 'delayed' ? next.untilMs : [],
    ['waiting', 'unsatisfiable', 'unplanned'].includes(next.kind) ? now.getTime() + WAITING_LOOK_MS : [],
    isUnscheduled && Number.isFinite(schedulingDeadline(attempt)) ? schedulingDeadline(attempt) : [],
    attempt !== undefined && hasFreshProgress(record, facts) ? progressDueAt(record) : [],
    facts.pods.flatMap((pod) => fencedAt(facts, pod) ?? []),
  ].flat();
  const futureMs = dueMs.map((due) => due - now.getTime()).filter((ms) => ms > 0);
  return futureMs.length === 0 ? undefined : Math.min(...futureMs);
}
