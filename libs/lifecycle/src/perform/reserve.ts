import type { PlacementSpec, TrainingJob } from '@coxswain/api-types';
import type { ClusterScheduler } from '@coxswain/scheduling';

/**
 * Reserves the placement that status records or is to record, before it is created, and releases an earlier reservation that is not needed
 * any more.
 */
export function reserve(
  about: {
    readonly job: TrainingJob;
    readonly placement: PlacementSpec | undefined;
    readonly claims: PlacementSpec | undefined;
    readonly version: () => number;
  },
  scheduler: ClusterScheduler,
): boolean {
  const { job, placement, claims, version } = about;
  const { uid } = job.metadata;
  const wanted = placement ?? claims;
  if (wanted !== undefined && scheduler.reservedFor(uid) === wanted) return true;
  scheduler.release(uid);
  if (placement === undefined && claims !== undefined) {
    scheduler.reserveClaim(claims);
    return true;
  }
  return placement === undefined || scheduler.reserve(placement, version());
}
