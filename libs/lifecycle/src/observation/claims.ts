/** Which running jobs make room for a waiting one, and for which waiting job does a running one make room? */
import type { JobClaim, Placement } from '@coxswain/api-types';
import { isRecordedPlacement, type JobName } from '@coxswain/scheduling';
import type { JobRecord } from '../record/job-record.ts';

/** A claim of another job that names this one. */
export interface ClaimOnJob {
  /** The job that gets the nodes. */
  readonly job: JobName;
  readonly priority: number;
  readonly claim: JobClaim;
}

/** The claim of the job that has not ended; undefined: there is none. */
export function standingClaim({ claim }: Pick<JobRecord, 'claim'>): JobClaim | undefined {
  return claim === undefined || claim.state === 'Ended' ? undefined : claim;
}

/** Whether the claim of the job records that Placement. An ended claim records none. */
export function isOfClaim(placement: Placement, { claim }: Pick<JobRecord, 'claim'>): boolean {
  const standing = standingClaim({ claim });
  return standing !== undefined && isRecordedPlacement(placement, standing);
}
