/** Should running jobs of lower priority make room for a waiting job, and which? */
import type { ClaimVictim, JobClaim } from '@coxswain/api-types';
import { placementSha256, type ChosenVictim, type JobName } from '@coxswain/scheduling';
import { claimPause, shownName } from '../observation/claim-on.ts';
import { standingClaim } from '../observation/claims.ts';
import type { Facts, UnwrittenPlacement } from '../observation/facts.ts';
import { isOver } from '../observation/waits.ts';
import type { JobRecord } from '../record/job-record.ts';
import { type NextEpoch, placementSpec } from './next-epoch.ts';
import { mayMakeRoom } from './record-claim.ts';
import { asClaimed } from './unwritten-claim.ts';

/** A claim that is to be recorded. */
export interface NewClaim {
  readonly claim: JobClaim;
  readonly placement: UnwrittenPlacement;
  /** They are read live before it is recorded. */
  readonly victims: readonly JobName[];
}

/** The claim of a job that waits for GPUs; undefined: no running job is asked. */
export function newClaim(
  { record, facts, next }: { readonly record: JobRecord; readonly facts: Facts; readonly next: NextEpoch },
  now: Date,
): NewClaim | undefined {
  if ((next.kind !== 'waiting' && next.kind !== 'unsatisfiable') || next.wanted === undefined) return undefined;
  const { makeRoom } = facts.observed;
  const pause = claimPause(record);
  const isPaused = pause !== undefined && !isOver(facts, pause);
  if (makeRoom === undefined || standingClaim(record) !== undefined || isPaused || !mayMakeRoom(record, facts))
    return undefined;
  const choice = makeRoom(next.wanted.request);
  if (choice.kind === 'none' || choice.victims.length === 0 || isHeldByArbiter(record, facts)) return undefined;
  const placement = asClaimed(facts, placementSpec(facts, next.wanted.placing, choice.placement));
  return {
    placement,
    victims: choice.victims,
    claim: {
      epoch: placement.spec.epoch,
      generation: facts.generation,
      state: 'Recorded',
      placement: placement.name,
      placementSha256: placementSha256(placement.spec),
      victims: choice.victims.map((victim) => victimOf(victim, facts)),
      gainGpuSeconds: choice.gainGpuSeconds,
      recordedAt: now.toISOString(),
      expiresAfterSeconds: Math.ceil(choice.expiresAfterSeconds),
    },
  };
}

/**
 * Whether as many gangs have just made room as may within some minutes. Once a claim is recorded, the arbiter holds no stop for it: a part of the gangs
 * would have stopped for nothing.
 */
function isHeldByArbiter({ epoch }: JobRecord, { observed }: Facts): boolean {
  const asks = { cause: 'room', run: `e${epoch + 1}i1`, isDue: true, asksOnly: true } as const;
  return observed.ruleOnEnd?.({ ...asks, nodes: [], switches: [], claims: [] }).kind === 'held';
}

function victimOf(victim: ChosenVictim, facts: Facts): ClaimVictim {
  const { uid, epoch, wayOut, toGpus, priceGpuSeconds, lostSeconds, savesWhenAsked, waitsForSave, deadlineSeconds } =
    victim;
  return {
    ...shownName(victim, facts),
    uid,
    epoch,
    wayOut,
    ...(toGpus === undefined ? {} : { toGpus }),
    priceGpuSeconds,
    lostSeconds,
    savesWhenAsked,
    ...(waitsForSave === undefined ? {} : { waitsForSave }),
    deadlineSeconds: Math.ceil(deadlineSeconds),
  };
}

/** Victims that were not read from the API server for this observation. A claim is recorded on a live read of each. */
export function unreadVictims(claim: NewClaim | undefined, { observed }: Facts): readonly JobName[] {
  return (claim?.victims ?? []).filter(({ uid }) => observed.provenJobs?.has(uid) !== true);
}
