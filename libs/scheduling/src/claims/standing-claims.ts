/** Which claims stand, and which nodes do they hold? Read from status, so that a new leader finds the same. */
import type { ClaimVictim, Placement, TrainingJob } from '@coxswain/api-types';
import type { JobName } from '../gang-request.ts';
import { priorityOf } from '../order/priority.ts';
import { gpusOfPlacement, nameOf } from '../promises/holders.ts';
import type { GpusByNode } from '../promises/node-promise.ts';
import { isClaimedPlacement, recordedClaim } from '../reservations/recorded-claim.ts';

/** A claim that was recorded and has not ended. */
export interface StandingClaim {
  /** The job that waits. */
  readonly job: JobName;
  readonly priority: number;
  /** The attempt that it is for. */
  readonly epoch: number;
  readonly victims: readonly Pick<ClaimVictim, 'uid' | 'epoch'>[];
  /** Empty until its Placement exists: until then the process that chose the nodes holds them. */
  readonly gpus: GpusByNode;
}

/** All claims that stand. */
export function standingClaims(
  jobs: Iterable<TrainingJob>,
  placements: readonly Placement[],
): readonly StandingClaim[] {
  return [...jobs].flatMap((job) => {
    const claim = recordedClaim(job);
    if (claim === undefined) return [];
    const placement = placements.find((one) => isClaimedPlacement(one, job));
    const gpus = placement === undefined ? NONE : gpusOfPlacement(placement.spec);
    return [{ job: nameOf(job), priority: priorityOf(job), epoch: claim.epoch, victims: claim.victims, gpus }];
  });
}

const NONE: GpusByNode = new Map();
