/** Which Checkpoint objects are deleted because newer ones replace them? */
import { ANNOTATIONS, type Checkpoint, isAdopted } from '@coxswain/api-types';
import { isFoundBroken, newestRestorable } from '@coxswain/checkpoint';
import { standingOf, standingsOf } from '../failure/checkpoint-standing.ts';
import { newestUsable } from '../failure/resume-point.ts';
import { type Facts, isTerminal } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { checkpointWriteKey } from '../observation/refused-checkpoints.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** Deletions per reconciliation; a job with thousands of old objects loses them in several. */
const MAX_AT_ONCE = 50;

/**
 * Checkpoint objects that retention no longer keeps, newest first. Only restorable checkpoints count toward the number that is kept, and
 * they are ordered by the time of their save, because a user may have gone back to an earlier step. A checkpoint that training may resume
 * from is never returned. Nothing is returned while ended pods may still report saves, because their objects would be created again.
 */
export function oldCheckpoints(record: JobRecord, facts: Facts): readonly Checkpoint[] {
  const most = mostObjects(record, facts);
  if (facts.checkpoints.length <= most || facts.deleting || mayPodsReportSaves(record, facts)) return [];
  const standings = standingsOf(record);
  const newestFirst = facts.checkpoints.filter((one) => isThere(one) && !isAdopted(one)).toSorted(bySaveNewestFirst);
  const usable = newestFirst.filter((checkpoint) => {
    const standing = standingOf(checkpoint, standings);
    const counts = standing.kind === 'usable' || (standing.kind === 'suspect' && !standing.isPassedOver);
    return checkpoint.status?.state === 'Complete' && counts && !isFoundBroken(checkpoint);
  });
  const oldestKept = usable[most - 1];
  // With some slack, because each deletion takes a live read.
  if (oldestKept === undefined || usable.length <= most + Math.floor(most / 10)) return [];
  const needed = neededNames(record, facts);
  return newestFirst
    .slice(newestFirst.indexOf(oldestKept) + 1)
    .filter(({ metadata: { name } }) => !needed.has(name) && !isRefused(name, facts))
    .filter((checkpoint) => !isPinned(checkpoint) && checkpoint.status?.deletion === undefined)
    .slice(0, MAX_AT_ONCE);
}

/**
 * How many objects are kept. Where a retention policy applies, retention deletes saves with their objects, and needs the objects to know them: so more are kept,
 * and still fewer than the operator accepts (`CheckpointQuota`).
 */
function mostObjects({ terminal }: JobRecord, { retention, checkpoints }: Facts): number {
  const isRetained = checkpoints.some(({ status }) => status?.retention !== undefined);
  if (isRetained) return 2 * retention.checkpoints;
  return terminal === undefined ? retention.checkpoints : retention.checkpointsOfFinished;
}

/** Whether a user keeps it. It takes the place of no other. */
function isPinned({ metadata: { annotations } }: Checkpoint): boolean {
  return annotations?.[ANNOTATIONS.pin] !== undefined;
}

function isThere({ metadata }: Checkpoint): boolean {
  return metadata.deletionTimestamp === undefined;
}

/** Orders by epoch, then incarnation, then step, which is the order of time. */
function bySaveNewestFirst({ spec: one }: Checkpoint, { spec: other }: Checkpoint): number {
  return other.epoch - one.epoch || (other.incarnation ?? 1) - (one.incarnation ?? 1) || other.step - one.step;
}

function mayPodsReportSaves(record: JobRecord, facts: Facts): boolean {
  const attempt = liveAttempt(record);
  return attempt !== undefined && (attempt.stage === 'Stopping' || podsOf(facts, attempt.epoch).some(isTerminal));
}

/**
 * Checkpoints to keep: those that the job would resume from, that the current attempt resumed from, that a user named, and the last
 * complete one.
 */
function neededNames(record: JobRecord, facts: Facts): ReadonlySet<string | undefined> {
  const { uid } = facts.job.metadata;
  return new Set([
    newestUsable(record, facts)?.metadata.name,
    newestRestorable(facts.checkpoints, { jobUid: uid })?.metadata.name,
    record.checkpoint?.name,
    record.attempts.at(-1)?.resumedFrom?.checkpoint,
    record.resumeFrom?.from,
    facts.spec?.resumeFrom?.from,
  ]);
}

function isRefused(name: string, { refusedCheckpoints }: Facts): boolean {
  return (refusedCheckpoints.get(checkpointWriteKey({ kind: 'deleteCheckpoint', name }))?.retryInMs ?? 0) > 0;
}
