/** Which running jobs make room for a waiting one, and for which waiting job does a running one make room? */
import type { JobClaim, Placement, WayOut } from '@coxswain/api-types';
import { isRecordedPlacement } from '@coxswain/scheduling';
import type { JobRecord } from '../record/job-record.ts';

/** Identifies a job. */
export interface JobReference {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A running job that was chosen to make room. */
export interface ChosenVictim extends JobReference {
  readonly epoch: number;
  readonly wayOut: WayOut;
  readonly toGpus?: number;
  readonly priceGpuSeconds: number;
  readonly lostSeconds: number;
  readonly savesWhenAsked: boolean;
  readonly deadlineSeconds: number;
}

/** Nodes for a waiting job, and the running jobs that leave them; or why there are none. */
export type RoomChoice =
  | {
      readonly kind: 'claim';
      readonly placement: { readonly nodes: readonly string[]; readonly ranksPerPod: number };
      readonly victims: readonly ChosenVictim[];
      readonly gainGpuSeconds: number;
      readonly expiresAfterSeconds: number;
    }
  | { readonly kind: 'none'; readonly reason: string };

/** A claim of another job that names this one. */
export interface ClaimOnJob {
  /** The job that gets the nodes. */
  readonly job: JobReference;
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
