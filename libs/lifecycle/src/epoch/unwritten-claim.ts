/** Which Placement of a claim must be created (again)? Status records its hash first, and it is created afterwards, as for attempts (unwritten-placement.ts). */
import { placementName, type PlacementSpec } from '@coxswain/api-types';
import { placementSha256 } from '@coxswain/scheduling';
import { standingClaim } from '../observation/claims.ts';
import type { Facts, UnwrittenPlacement } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

/**
 * The claimed placement as this process holds it. undefined: it exists, or another process chose it. It is not searched again: other victims may be cheaper by now,
 * and no job was asked yet.
 */
export function unwrittenClaim(record: JobRecord, facts: Facts): UnwrittenPlacement | undefined {
  const claim = standingClaim(record);
  const { reserved } = facts.observed;
  if (claim === undefined || facts.claimed !== undefined || reserved === undefined) return undefined;
  return placementSha256(reserved) === claim.placementSha256 ? asClaimed(facts, reserved) : undefined;
}

/** The placement under the name that a claim records. */
export function asClaimed({ job: { metadata } }: Facts, spec: PlacementSpec): UnwrittenPlacement {
  const { name, uid } = metadata;
  return { name: placementName({ name, uid }, { epoch: spec.epoch, sha256: placementSha256(spec) }), spec };
}
