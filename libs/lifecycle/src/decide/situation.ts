import { type Acceptance, acceptanceOf } from '../epoch/acceptance.ts';
import { askedAtOf } from '../epoch/asked-at.ts';
import { withNewAttempt } from '../epoch/begin-attempt.ts';
import { withConversion } from '../conversion/record-conversion.ts';
import { expectedStartOf } from '../epoch/expected-start.ts';
import { type Facts, factsOf, type UnwrittenPlacement } from '../observation/facts.ts';
import { type NewClaim, newClaim } from '../epoch/make-claim.ts';
import { unwrittenClaim } from '../epoch/unwritten-claim.ts';
import { type JobRecord, liveAttempt, recordOf } from '../record/job-record.ts';
import { type NextEpoch, nextEpoch } from '../epoch/next-epoch.ts';
import type { Observed } from '../observation/observed.ts';
import { type Planning, planningOf, withPlan } from '../epoch/planning.ts';
import { recordObservation } from '../epoch/record-observation.ts';
import { unwrittenPlacement } from '../epoch/unwritten-placement.ts';

/** Everything that status and actions are derived from, computed once per observation. `record` is the record as it will be written. */
export interface Situation {
  readonly facts: Facts;
  readonly record: JobRecord;
  readonly planning: Planning;
  readonly acceptance: Acceptance;
  readonly next: NextEpoch;
  /** Running jobs that could make room for this one now; undefined: none, or a claim stands already. */
  readonly claim: NewClaim | undefined;
  /** The Placement of a claim that must be created, or is to be recorded. */
  readonly claimed: UnwrittenPlacement | undefined;
  readonly now: Date;
}

/** Derives the situation of a job: records what was observed, then plans, accepts and places the next attempt. */
export function situationOf(observed: Observed, now: Date): Situation {
  const recorded = recordOf(observed.job);
  const facts = factsOf(observed, recorded);
  const observedRecord = recordObservation(recorded, facts, now);
  const planning = planningOf(observedRecord, facts, now);
  // Before the attempt, so that a gang never depends on a plan that only a process remembers.
  const withoutConversion = withPlan(observedRecord, planning);
  const acceptance = acceptanceOf(withoutConversion, facts);
  const next = nextEpoch({ record: withoutConversion, facts, planning, acceptance, now });
  const planned = withNeededConversion(withoutConversion, next, now);
  const maySettle = facts.hasFinalizer && isSettled(recorded, planned);
  const begins = next.kind === 'placing' && maySettle ? next : undefined;
  const claim = maySettle ? newClaim({ record: planned, facts, next }, now) : undefined;
  // No running job is asked for a gang whose pods the cluster would refuse.
  const recordsClaim = claim !== undefined && facts.observed.podProbe?.kind === 'accepted';
  const { leaderTerm } = observed;
  const asking = {
    ...planned,
    ...(recordsClaim ? { claim: claim.claim } : {}),
    askedAt: askedAtOf({ record: planned, facts, next, now }),
    expectedStart: begins === undefined ? expectedStartOf({ record: planned, facts, next, now }) : undefined,
  };
  const record = begins === undefined ? asking : withNewAttempt(asking, begins, { leaderTerm, now });
  const unwritten = begins ?? unwrittenPlacement(record, facts);
  return {
    facts: unwritten === undefined ? facts : { ...facts, unwritten },
    record,
    planning,
    acceptance,
    next,
    claim,
    claimed: recordsClaim ? claim.placement : unwrittenClaim(record, facts),
    now,
  };
}

/** Waits for something that decides whether a conversion is needed: until then, one that runs goes on. */
const BEFORE_CONVERSION: readonly NextEpoch['kind'][] = [
  'unplanned',
  'planning',
  'readingRuntime',
  'afterPreviousEpoch',
];

function withNeededConversion(record: JobRecord, next: NextEpoch, now: Date): JobRecord {
  if (BEFORE_CONVERSION.includes(next.kind)) return record;
  return withConversion(record, next.kind === 'converting' ? next.conversion : undefined, now);
}

/** Whether the previous attempt's end is recorded: an end is one write, and the next beginning is another. */
function isSettled(recorded: JobRecord, now: JobRecord): boolean {
  return liveAttempt(recorded) === undefined && recorded.epoch === now.epoch;
}
