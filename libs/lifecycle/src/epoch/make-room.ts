/** When does a running gang stop because a job of higher priority needs its nodes? */
import type { JobName } from '@coxswain/scheduling';
import type { Attempt, ForClaim } from '@coxswain/api-types';
import { claimKey, claimOn, claimSave, describeOther, shownName } from '../observation/claim-on.ts';
import type { ClaimOnJob } from '../observation/claims.ts';
import type { Facts } from '../observation/facts.ts';
import { isOver, type Wait } from '../observation/waits.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { canBeAskedToSave, isSavedFor } from './is-saved.ts';
import { lastStepOf } from './last-step.ts';

/**
 * Stops the gang for the claim that names it, once it has saved or its time for that is over. The stop is never taken back: pods may be deleted from
 * then on.
 */
export function recordMakesRoom(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  const claim = attempt?.stage === 'Released' ? claimOn(facts, attempt) : undefined;
  if (attempt === undefined || claim === undefined || !isDue(record, facts, { attempt, claim })) return record;
  const { job, priority, victim } = claim;
  const name = shownName(job, facts);
  const deadline = new Date(now.getTime() + victim.deadlineSeconds * 1000).toISOString();
  const forClaim: ForClaim = {
    ...name,
    uid: job.uid,
    epoch: claim.claim.epoch,
    priority,
    wayOut: victim.wayOut,
    deadline,
  };
  return withLastAttempt(record, {
    stage: 'Stopping',
    stoppingAt: now.toISOString(),
    outcome: 'Moved',
    reason: 'MadeRoom',
    message: `It makes room for ${describeOther({ ...name, uid: job.uid })} of priority ${priority}. ${HOW_IT_GOES_ON[victim.wayOut]}`,
    charged: false,
    forClaim,
    ...lastStepOf(record, facts),
  });
}

const HOW_IT_GOES_ON: Readonly<Record<ForClaim['wayOut'], string>> = {
  Shrink: 'The job goes on with fewer GPUs.',
  Move: 'The job goes on with other nodes.',
  Wait: 'The job goes on when GPUs are free.',
};

/** The wait for the save that was asked for; undefined: the gang is not asked to make room, or does not save and train on. */
export function makeRoomWait(record: JobRecord, facts: Facts): Wait | undefined {
  const attempt = liveAttempt(record);
  const claim = attempt?.stage === 'Released' ? claimOn(facts, attempt) : undefined;
  return attempt === undefined || claim === undefined ? undefined : claimSave(attempt, claim);
}

/** Whether more waiting would save no more steps. */
function isDue(
  record: JobRecord,
  facts: Facts,
  about: { readonly attempt: Attempt; readonly claim: NonNullable<ReturnType<typeof claimOn>> },
): boolean {
  const { attempt, claim } = about;
  const { waitsForSave } = claim.victim;
  if (isOver(facts, claimSave(attempt, claim))) return true;
  if (canBeAskedToSave(facts, attempt)) return isSavedFor(record, facts, { attempt, key: claimKey(claim) });
  return waitsForSave === undefined || (record.checkpoint?.step ?? 0) > waitsForSave.afterStep;
}

/** The job for which the gang begins to stop; undefined: it does not. That job is read live before. */
export function jobToMakeRoomFor(
  before: JobRecord,
  after: JobRecord,
  { observed }: Facts,
): (JobName & Pick<ClaimOnJob, 'claim'>) | undefined {
  const forClaim = after.attempts.at(-1)?.forClaim;
  const then = before.attempts.find(({ epoch }) => epoch === after.epoch);
  if (forClaim === undefined || then === undefined || then.forClaim !== undefined) return undefined;
  const found = observed.claimsOnJob?.().find(({ job }) => job.uid === forClaim.uid);
  return found === undefined ? undefined : { ...found.job, claim: found.claim };
}
