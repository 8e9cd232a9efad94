/** Which claim asks a running job to make room, how is it named, and how long does it stand? */
import type { JobName } from '@coxswain/scheduling';
import type { Attempt, ClaimVictim, JobClaim } from '@coxswain/api-types';
import type { JobRecord } from '../record/job-record.ts';
import type { ClaimOnJob } from './claims.ts';
import type { Facts } from './facts.ts';
import type { Wait } from './waits.ts';

/** The claim that asks this attempt to make room, with what it says of it; undefined: none does. Of several, the one of the highest priority. */
export function claimOn(
  { observed, job }: Facts,
  { epoch }: Pick<Attempt, 'epoch'>,
): (ClaimOnJob & { readonly victim: ClaimVictim }) | undefined {
  const claims = (observed.claimsOnJob?.() ?? []).flatMap((one) => {
    const { state, victims } = one.claim;
    const victim = victims.find((named) => named.uid === job.metadata.uid && named.epoch === epoch);
    return state === 'Asking' && victim !== undefined ? [{ ...one, victim }] : [];
  });
  return claims.toSorted((one, other) => other.priority - one.priority)[0];
}

/** How the status of a job names another one: only readers of its namespace may see that one. */
export function shownName(other: JobName, { job }: Facts): { readonly name?: string } {
  return other.namespace === job.metadata.namespace ? { name: other.name } : {};
}

/** `job big`, or `a job of another namespace (UID 3f1c2b9e)` */
export function describeOther({ name, uid }: { readonly name?: string | undefined; readonly uid: string }): string {
  return name === undefined ? `a job of another namespace (UID ${uid})` : `job ${name}`;
}

/** How long the claim stands. Two claims of a job may be for the same attempt, one after the other. */
export function claimExpiry({ recordedAt, expiresAfterSeconds }: JobClaim): Wait {
  return { key: `claim/${recordedAt}/expires`, limitMs: expiresAfterSeconds * 1000 };
}

/** How long a node of the claim may be not ready before the claim ends. */
export function claimUnwell({ recordedAt }: JobClaim, { timeouts }: Pick<Facts, 'timeouts'>): Wait {
  return { key: `claim/${recordedAt}/unwell`, limitMs: timeouts.nodeGraceMs };
}

/** The pause after a claim that failed, before running jobs are asked again; undefined: there is none. */
export function claimPause({ claim }: Pick<JobRecord, 'claim'>): Wait | undefined {
  if (claim?.end?.reason !== 'Expired' && claim?.end?.reason !== 'PlacementRefused') return undefined;
  return { key: `claim/${claim.recordedAt}/pause`, limitMs: claim.expiresAfterSeconds * 1000 };
}

/** The next save of its own may be later than expected by so much. */
const LATE_SAVE_MS = 60_000;

/** How long the ranks may take for the save that a claim asks for or waits for, before they are stopped. */
export function claimSave(
  { epoch }: Pick<Attempt, 'epoch'>,
  { job, claim, victim }: ReturnType<typeof claimOn> & object,
): Wait {
  const { deadlineSeconds, waitsForSave } = victim;
  const limitMs = waitsForSave === undefined ? deadlineSeconds * 1000 : waitsForSave.seconds * 1000 + LATE_SAVE_MS;
  return { key: `e${epoch}/claim/${job.uid}/${claim.recordedAt}/saves`, limitMs };
}

/** Names the claim among the reasons for an early save. */
export function claimKey({ job, claim }: ClaimOnJob): string {
  return `MakesRoom ${job.uid} ${claim.recordedAt}`;
}
