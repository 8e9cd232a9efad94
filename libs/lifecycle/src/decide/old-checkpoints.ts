/** Which Checkpoint objects are collected? */
import type { Checkpoint } from '@coxswain/api-types';
import { newestRestorable } from '@coxswain/checkpoint';
import { condemnedCheckpoints } from '../failure/checkpoint-trouble.ts';
import { newestUsable } from '../failure/resume-point.ts';
import { type Facts, isTerminal } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { checkpointWriteKey } from '../observation/refused-checkpoints.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** Of one look; a job that has thousands of them from before loses them in several. */
const MOST_AT_ONCE = 50;

/**
 * Objects older than those that are kept, newest first. Only what can be restored takes up a place, and newest is what was saved last: a person
 * may have gone back to an earlier step since. What training may go on from is never among them. None goes while pods that have ended may still
 * tell of it, or it would be made again.
 */
export function oldCheckpoints(record: JobRecord, facts: Facts): readonly Checkpoint[] {
  const most = record.terminal === undefined ? facts.retention.checkpoints : facts.retention.checkpointsOfFinished;
  if (facts.checkpoints.length <= most || facts.deleting || mayPodsTell(record, facts)) return [];
  const condemned = condemnedCheckpoints(record);
  const newestFirst = facts.checkpoints.filter(isThere).toSorted(bySaveNewestFirst);
  const usable = newestFirst.filter(
    ({ metadata, status }) => status?.state === 'Complete' && !condemned.has(metadata.name),
  );
  const oldestKept = usable[most - 1];
  // With some slack, since each collection takes a live read.
  if (oldestKept === undefined || usable.length <= most + Math.floor(most / 10)) return [];
  const needed = neededNames(record, facts);
  return newestFirst
    .slice(newestFirst.indexOf(oldestKept) + 1)
    .filter(({ metadata: { name } }) => !needed.has(name) && !isRefused(name, facts))
    .slice(0, MOST_AT_ONCE);
}

function isThere({ metadata }: Checkpoint): boolean {
  return metadata.deletionTimestamp === undefined;
}

/** Epochs, the incarnations of each, and the steps of those follow each other in time. */
function bySaveNewestFirst({ spec: one }: Checkpoint, { spec: other }: Checkpoint): number {
  return other.epoch - one.epoch || (other.incarnation ?? 1) - (one.incarnation ?? 1) || other.step - one.step;
}

function mayPodsTell(record: JobRecord, facts: Facts): boolean {
  const attempt = liveAttempt(record);
  return attempt !== undefined && (attempt.stage === 'Stopping' || podsOf(facts, attempt.epoch).some(isTerminal));
}

/** What the job would resume from, what the gang under way began from, what a person has named, and the last complete one whatever else holds. */
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
