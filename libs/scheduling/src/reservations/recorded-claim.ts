/** What status records of a claim: the nodes that a waiting job gets, and the gangs that leave them. */
import type { JobClaim, Placement, TrainingJob } from '@coxswain/api-types';
import { isRecordedPlacement } from './recorded-placement.ts';

/** The claim that the status of the job records; undefined: none stands. */
export function recordedClaim({ status }: Pick<TrainingJob, 'status'>): JobClaim | undefined {
  const claim = status?.claim;
  return claim !== undefined && claim.state !== 'Ended' && claim.epoch > (status?.epoch ?? 0) ? claim : undefined;
}

/** Whether the claim of the job records that Placement. */
export function isClaimedPlacement(placement: Placement, job: TrainingJob): boolean {
  const claim = recordedClaim(job);
  return (
    claim !== undefined &&
    placement.spec.jobUid === job.metadata.uid &&
    placement.metadata.namespace === job.metadata.namespace &&
    isRecordedPlacement(placement, claim)
  );
}
