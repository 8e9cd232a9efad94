import { type Acceptance, acceptanceOf } from './acceptance.ts';
import { type Facts, factsOf } from './facts.ts';
import { type JobRecord, recordOf } from './job-record.ts';
import { type NextEpoch, nextEpoch } from './next-epoch.ts';
import type { Observed } from './observed.ts';
import { type Planning, planningOf, withPlan } from './planning.ts';
import { recordObservation } from './record-observation.ts';

/** Everything that status and actions are derived from, worked out once per look: the record as it will stand, never more than that. */
export interface Situation {
  readonly facts: Facts;
  readonly record: JobRecord;
  readonly planning: Planning;
  readonly acceptance: Acceptance;
  readonly next: NextEpoch;
  readonly now: Date;
}

export function situationOf(observed: Observed, now: Date): Situation {
  const facts = factsOf(observed);
  const observedRecord = recordObservation(recordOf(facts.job), facts, now);
  const planning = planningOf(observedRecord, facts, now);
  // Before any placement, so that a gang never stands on a plan that only a process remembers.
  const record = withPlan(observedRecord, planning);
  const acceptance = acceptanceOf(record, facts);
  const next = nextEpoch({ record, facts, planning, acceptance, now });
  return { facts, record, planning, acceptance, next, now };
}
