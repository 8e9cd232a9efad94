import { findCondition } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt, recordedConditions } from '../record/job-record.ts';
import type { NextEpoch } from './next-epoch.ts';

/** What decides since when a job asks for GPUs. */
interface Asks {
  readonly record: JobRecord;
  readonly facts: Pick<Facts, 'job' | 'suspend' | 'deleting'>;
  readonly next: Pick<NextEpoch, 'kind'>;
  readonly now: Date;
}

/**
 * RFC 3339: since when this run of the job asks for GPUs. The order of waiting jobs follows it, so a restart, a move or another size keeps the
 * job's place. A suspended job does not ask, and asks anew when it is resumed. undefined: it does not ask, or its status does not say it yet.
 */
export function askedAtOf(asks: Asks): string | undefined {
  const { record, facts, next } = asks;
  if (liveAttempt(record) !== undefined || record.terminal !== undefined || facts.deleting) return record.askedAt;
  if (facts.suspend) return undefined;
  if (next.kind === 'notNeeded' || next.kind === 'refused') return record.askedAt;
  return record.askedAt ?? firstAsked(asks);
}

/** For a job without the field, which is new or of the release before: that one kept a job's place while it waited, not across attempts. */
function firstAsked({ record, facts, now }: Asks): string {
  const placed = findCondition(recordedConditions(facts.job), 'Placed');
  if (placed === undefined) return facts.job.metadata.creationTimestamp ?? now.toISOString();
  if (placed.status === 'True') return startOfRun(record) ?? now.toISOString();
  return DID_NOT_ASK.includes(placed.reason) ? now.toISOString() : placed.lastTransitionTime;
}

/** Reasons of condition Placed with which a job did not ask for GPUs. */
const DID_NOT_ASK: readonly string[] = ['Suspended', 'NotAccepted', 'Finished'];

/** Start of the oldest recorded attempt since the job was last suspended. */
function startOfRun({ attempts }: JobRecord): string | undefined {
  const suspended = attempts.findLastIndex(({ outcome }) => outcome === 'Suspended');
  return attempts[suspended + 1]?.startedAt;
}
