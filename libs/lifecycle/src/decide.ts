import type { TrainingJobStatus } from '@coxswain/api-types';
import { act } from './act.ts';
import type { Decision } from './decision.ts';
import { describe } from './describe.ts';
import { type Facts, factsOf, fencedAt } from './facts.ts';
import { schedulingDeadline } from './failure.ts';
import { eventsSince } from './job-events.ts';
import { type NextEpoch, nextEpoch } from './next-epoch.ts';
import type { Observed } from './observed.ts';
import { hasFreshProgress, progressDueAt, record } from './record.ts';
import { type Ledger, liveAttempt, recordedLedger } from './recorded-status.ts';
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
  const ledger = record(recordedLedger(facts.job), facts, now);
  const next = nextEpoch(ledger, facts, now);
  const status = describe(ledger, { facts, next, now });
  const requeueAfterMs = nextLookMs({ ledger, facts, next, now });
  return {
    status,
    actions: act({ ledger, facts, next, now }),
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
  readonly ledger: Ledger;
  readonly facts: Facts;
  readonly next: NextEpoch;
  readonly now: Date;
}): number | undefined {
  const { ledger, facts, next, now } = situation;
  const attempt = liveAttempt(ledger);
  const isUnscheduled = attempt?.stage === 'Released' && attempt.runningAt === undefined;
  const dueMs = [
    next.kind === 'delayed' ? next.untilMs : [],
    ['waiting', 'unsatisfiable', 'unplanned'].includes(next.kind) ? now.getTime() + WAITING_LOOK_MS : [],
    isUnscheduled && Number.isFinite(schedulingDeadline(attempt)) ? schedulingDeadline(attempt) : [],
    attempt !== undefined && hasFreshProgress(ledger, facts) ? progressDueAt(ledger) : [],
    facts.pods.flatMap((pod) => fencedAt(facts, pod) ?? []),
  ].flat();
  const futureMs = dueMs.map((due) => due - now.getTime()).filter((ms) => ms > 0);
  return futureMs.length === 0 ? undefined : Math.min(...futureMs);
}
