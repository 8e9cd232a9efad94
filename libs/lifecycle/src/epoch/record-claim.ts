/** What becomes of the claim of a waiting job: are its victims asked now, and does it end without a start? */
import { CLAIM_ENDS, type ClaimEnd, type JobClaim } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import { claimExpiry, claimUnwell } from '../observation/claim-on.ts';
import { standingClaim } from '../observation/claims.ts';
import { type Facts, nodeStateOf } from '../observation/facts.ts';
import { isOver, type Wait } from '../observation/waits.ts';
import type { JobRecord } from '../record/job-record.ts';
import { unwrittenClaim } from './unwritten-claim.ts';

/**
 * Running jobs are asked from the write on that records `Asking`, which follows the creation of the Placement. A claim that ends takes nothing back: a job
 * that stops already goes on stopping.
 */
export function recordClaim(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const claim = standingClaim(record);
  if (claim === undefined) return record;
  const end = endOf(claim, record, facts);
  if (end !== undefined) {
    const { reason, more = '' } = end;
    const message = safeText(`${CLAIM_ENDS[reason]}${more}`, 512);
    return { ...record, claim: { ...claim, state: 'Ended', end: { at: now.toISOString(), reason, message } } };
  }
  if (claim.state === 'Asking' || facts.claimed === undefined) return record;
  return { ...record, claim: { ...claim, state: 'Asking', askedAt: now.toISOString() } };
}

function endOf(
  claim: JobClaim,
  record: JobRecord,
  facts: Facts,
): { readonly reason: ClaimEnd; readonly more?: string } | undefined {
  if (facts.deleting || facts.cancel || record.terminal !== undefined) return { reason: 'Cancelled' };
  if (facts.suspend) return { reason: 'Suspended' };
  // Status was lost, or another release began an attempt.
  if (claim.generation !== facts.generation || claim.epoch <= record.epoch) return { reason: 'Changed' };
  if (!mayMakeRoom(record, facts)) return { reason: 'TurnedOff' };
  const refusal = facts.refusedPods.get(claim.placement);
  if (refusal !== undefined) return { reason: 'PlacementRefused', more: ` It says: ${refusal}` };
  if (isClaimLost(record, facts)) return { reason: 'PlacementLost' };
  const node = unwellNode(claim, record, facts);
  if (node !== undefined) return { reason: 'NodeUnwell', more: ` It is node ${node}.` };
  return isOver(facts, claimExpiry(claim)) ? { reason: 'Expired' } : undefined;
}

/** Whether running jobs may be asked to make room for this one: the administrator and its PriorityClass allow it. */
export function mayMakeRoom({ priority }: JobRecord, { observed }: Facts): boolean {
  if (observed.makeRoom === undefined || priority?.className === undefined) return false;
  const found = observed.priorityClasses?.find(({ name }) => name === priority.className);
  return found?.neverPreempts === false;
}

/** Whether the claimed Placement exists nowhere and cannot be made again. Only a live read shows that. */
function isClaimLost(record: JobRecord, facts: Facts): boolean {
  return facts.isProven && missingClaimName(record, facts) !== undefined;
}

/** Name of the claimed Placement that needs a live read: it is not observed and cannot be made again. */
export function missingClaimName(record: JobRecord, facts: Facts): string | undefined {
  const claim = standingClaim(record);
  if (claim === undefined || facts.claimed !== undefined) return undefined;
  return unwrittenClaim(record, facts) === undefined ? claim.placement : undefined;
}

/** The first node of the claim that takes no pods. A node that is not ready may be ready again in a moment. */
function unwellNode(claim: JobClaim, record: JobRecord, facts: Facts): string | undefined {
  const nodes = facts.claimed?.spec.nodes ?? [];
  const avoided = new Set(record.avoidedNodes.map(({ node }) => node));
  const gone = nodes.find((node) => avoided.has(node) || nodeStateOf(facts, node) === 'gone');
  if (gone !== undefined) return gone;
  return isOver(facts, claimUnwell(claim, facts)) ? doubtfulNode(facts) : undefined;
}

function doubtfulNode(facts: Facts): string | undefined {
  return facts.claimed?.spec.nodes.find((node) => nodeStateOf(facts, node) !== 'ready');
}

/** Waits of a claim that stands. */
export function claimWaits(record: JobRecord, facts: Facts): readonly Wait[] {
  const claim = standingClaim(record);
  if (claim === undefined) return [];
  return [claimExpiry(claim), ...(doubtfulNode(facts) === undefined ? [] : [claimUnwell(claim, facts)])];
}
