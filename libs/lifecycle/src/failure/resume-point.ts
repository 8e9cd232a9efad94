/** Which step does the next attempt resume from? */
import { type Attempt, type Checkpoint, isSameRequest, type ResumeFrom, SCRATCH } from '@coxswain/api-types';
import { newestRestorable, describeLoadRefusal } from '@coxswain/checkpoint';
import type { ParallelLayout } from '@coxswain/layout';
import { safeText } from '@coxswain/safe-text';
import { type Condemnation, condemnedCheckpoints, describeCondemnation } from './checkpoint-trouble.ts';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

/** Where the next attempt begins. `answers`: the user's request that it follows. */
export type ResumePoint =
  | { readonly kind: 'scratch'; readonly answers?: ResumeFrom }
  | { readonly kind: 'checkpoint'; readonly checkpoint: Checkpoint; readonly answers?: ResumeFrom }
  /** Checkpoints are known and none is usable: a user has to choose. */
  | { readonly kind: 'none'; readonly message: string };

/** A point that an attempt can begin from. */
export type UsablePoint = Exclude<ResumePoint, { kind: 'none' }>;

/** Attempts in a row that ended while loading any checkpoint; limits retries while storage is unavailable. */
const MAX_TRIES_IN_A_ROW = 10;
/** Of these, attempts in which one node alone read different content: enough to show that no second node is available. */
const MAX_DOUBTS_IN_A_ROW = 3;
/** Of these, refusals of the same checkpoint by an engine that does not say what differs; another node will hardly change that. */
const MAX_REFUSALS_IN_A_ROW = 3;

/**
 * Where the next attempt begins. It begins from scratch only if nothing was ever saved, or if a user asks for it. An unobserved checkpoint
 * may exist, so the status counts as well as the objects.
 */
export function resumePointOf(record: JobRecord, facts: Facts): ResumePoint {
  const { spec } = facts;
  if (spec?.checkpoint === undefined) return { kind: 'scratch' };
  const request = pendingRequest(record, facts);
  return request === undefined ? newestPoint(record, facts) : requestedPoint(request, record, facts);
}

/**
 * The same for a gang of this layout. If the checkpoint's engine loads it only at other layouts, a user has to choose between checkpoint
 * and layout.
 */
export function pointForLayout(record: JobRecord, facts: Facts, layout: ParallelLayout): ResumePoint {
  const point = resumePointOf(record, facts);
  if (point.kind !== 'checkpoint') return point;
  const { metadata, spec } = point.checkpoint;
  const why = describeLoadRefusal(spec, layout);
  return why === undefined ? point : none(`Checkpoint ${metadata.name} ${why}.`, record, facts);
}

/** The newest usable checkpoint, as far as is known; undefined: none. */
export function newestUsable(record: JobRecord, facts: Facts): Checkpoint | undefined {
  const condemned = condemnedCheckpoints(record);
  const usable = ownCheckpoints(record, facts).filter(({ metadata }) => !condemned.has(metadata.name));
  return newestRestorable(usable, { jobUid: facts.job.metadata.uid });
}

/** Whether that checkpoint is observed to be unusable. */
export function isUseless(name: string, record: JobRecord, facts: Facts): boolean {
  const seen = facts.checkpoints.find(({ metadata }) => metadata.name === name);
  const isOwn = seen === undefined || isOfThisLine(seen, record);
  return !isOwn || seen?.status?.state === 'Damaged' || condemnedCheckpoints(record).has(name);
}

function pendingRequest(record: JobRecord, facts: Facts): ResumeFrom | undefined {
  const asked = facts.spec?.resumeFrom;
  return asked === undefined || isSameRequest(asked, record.resumeFrom) ? undefined : asked;
}

/** Checkpoints since the last answered `spec.resumeFrom`, and the one that it named. */
function ownCheckpoints(record: JobRecord, facts: Facts): readonly Checkpoint[] {
  return facts.checkpoints.filter((checkpoint) => isOfThisLine(checkpoint, record));
}

function isOfThisLine({ metadata, spec }: Checkpoint, { resumeFrom }: JobRecord): boolean {
  return resumeFrom === undefined || spec.epoch >= resumeFrom.epoch || metadata.name === resumeFrom.from;
}

function newestPoint(record: JobRecord, facts: Facts): ResumePoint {
  const checkpoint = newestUsable(record, facts);
  if (checkpoint === undefined) {
    return isAnyKnown(record, facts) ? none(WHY_NONE, record, facts) : { kind: 'scratch' };
  }
  const tries = triesInARow(record);
  if (tries.length >= MAX_TRIES_IN_A_ROW) {
    return none(`The last ${tries.length} attempts ended while they loaded a checkpoint.`, record, facts);
  }
  const refusals = tries.filter((attempt) => isRefusalOf(attempt, checkpoint.metadata.name)).length;
  if (refusals >= MAX_REFUSALS_IN_A_ROW) {
    const { name } = checkpoint.metadata;
    return none(
      `The engine refused checkpoint ${name} ${refusals} times and does not say what differs.`,
      record,
      facts,
    );
  }
  const doubts = tries.filter((attempt) => isDoubtOf(attempt, checkpoint.metadata.name));
  if (doubts.length >= MAX_DOUBTS_IN_A_ROW) return none(describeLoneNode(checkpoint, doubts), record, facts);
  return { kind: 'checkpoint', checkpoint };
}

/** Explains that one node alone reports different content; two nodes would have condemned the checkpoint. */
function describeLoneNode({ metadata }: Checkpoint, doubts: readonly Attempt[]): string {
  const faults = doubts.flatMap(({ checkpointFaults }) => checkpointFaults ?? []);
  const node = faults.find(({ kind }) => kind === 'ContentDiffers')?.node ?? 'one node';
  const what = `that the content of checkpoint ${metadata.name} is not what was saved`;
  return `Only ${node} reports ${what}, in ${doubts.length} attempts in a row, and no second node was available to check.`;
}

const WHY_NONE = 'No checkpoint can be used.';

function isAnyKnown(record: JobRecord, facts: Facts): boolean {
  const since = record.resumeFrom?.epoch ?? 0;
  return (
    record.checkpoint !== undefined ||
    ownCheckpoints(record, facts).length > 0 ||
    record.unrecordedCheckpoints.some(({ spec }) => spec.epoch >= since) ||
    record.attempts.some(({ epoch, resumedFrom }) => epoch >= since && resumedFrom !== undefined)
  );
}

/** Attempts since one got beyond its checkpoint, or since a user chose one. */
function triesInARow({ attempts, resumeFrom }: JobRecord): readonly Attempt[] {
  const since = resumeFrom?.epoch ?? 0;
  const last = attempts.findLastIndex(({ epoch, reason }) => epoch < since || !isCheckpointReason(reason));
  return attempts.slice(last + 1);
}

/** Whether the attempt ended because of the checkpoint that it resumed from. */
export function isCheckpointReason(reason: Attempt['reason']): boolean {
  return reason === 'CheckpointUnreadable' || reason === 'CheckpointIoError';
}

function isDoubtOf({ resumedFrom, checkpointFaults }: Attempt, name: string): boolean {
  return resumedFrom?.checkpoint === name && checkpointFaults?.some(({ kind }) => kind === 'ContentDiffers') === true;
}

function isRefusalOf({ reason, resumedFrom, checkpointFaults }: Attempt, name: string): boolean {
  return (
    reason === 'CheckpointUnreadable' &&
    resumedFrom?.checkpoint === name &&
    checkpointFaults?.some(({ kind }) => kind === 'ContentDiffers') !== true
  );
}

function requestedPoint(answers: ResumeFrom, record: JobRecord, facts: Facts): ResumePoint {
  const { from } = answers;
  if (from === SCRATCH) return { kind: 'scratch', answers };
  const checkpoint = facts.checkpoints.find(({ metadata }) => metadata.name === from);
  const problem = problemOf(checkpoint, condemnedCheckpoints(record).get(from));
  if (checkpoint !== undefined && problem === undefined) return { kind: 'checkpoint', checkpoint, answers };
  return none(`spec.resumeFrom names checkpoint ${from}, which ${problem ?? 'cannot be used'}.`, record, facts);
}

/** Completes "which ..."; undefined: the checkpoint is usable. */
function problemOf(checkpoint: Checkpoint | undefined, condemnation: Condemnation | undefined): string | undefined {
  if (checkpoint === undefined) return 'this job does not have; one of another job cannot be used';
  const { metadata, status } = checkpoint;
  if (condemnation !== undefined) return `is damaged: ${describeCondemnation(condemnation)}`;
  if (status?.state === 'Damaged') return `is damaged: ${status.message ?? 'no reason is recorded'}`;
  if (status?.state !== 'Complete') return 'was never marked complete';
  return metadata.deletionTimestamp === undefined ? undefined : 'is being deleted';
}

const MAX_LISTED = 10;
const MAX_ENTRY_CHARACTERS = 300;

/** Message with what happened, what to do, and the known checkpoints, newest first. Columns show only its first words. */
function none(what: string, record: JobRecord, facts: Facts): ResumePoint {
  const { name } = facts.job.metadata;
  const choice = `Training never begins from scratch by itself: choose with coxswain resume ${name} --from CHECKPOINT (or scratch), or with spec.resumeFrom.`;
  const entries = newestFirst(facts.checkpoints).map((one) => entryOf(one, record));
  const listed = entries.slice(0, MAX_LISTED).map((entry) => safeText(entry, MAX_ENTRY_CHARACTERS));
  const more = entries.length > MAX_LISTED ? [`${entries.length - MAX_LISTED} older ones`] : [];
  const seen = facts.checkpoints.some((one) => one.metadata.name === record.checkpoint?.name);
  const gone =
    record.checkpoint === undefined || seen
      ? []
      : [`step ${record.checkpoint.step} (${record.checkpoint.name}): its Checkpoint object does not exist`];
  const refused = record.unrecordedCheckpoints.map(({ spec, refusal, ...unmade }) =>
    safeText(`step ${spec.step} (${unmade.name}): saved, but its object is refused: ${refusal}`, MAX_ENTRY_CHARACTERS),
  );
  const known = [...gone, ...refused, ...listed, ...more].join('; ');
  return { kind: 'none', message: `${what} ${choice} Known: ${known === '' ? 'none' : known}.` };
}

function newestFirst(checkpoints: readonly Checkpoint[]): readonly Checkpoint[] {
  return checkpoints.toSorted((one, other) => other.spec.step - one.spec.step || other.spec.epoch - one.spec.epoch);
}

/** `step 40 (tiny-gpt-3f1c2b9e-e1-s40): usable; could not be loaded in epoch 3 on node-a (ESTALE)` */
function entryOf(checkpoint: Checkpoint, record: JobRecord): string {
  const { name } = checkpoint.metadata;
  const problem = problemOf(checkpoint, condemnedCheckpoints(record).get(name));
  const isOwn = isOfThisLine(checkpoint, record);
  const state = problem ?? (isOwn ? 'complete' : 'complete, saved before the last spec.resumeFrom');
  const tries = problem === undefined ? record.attempts.filter((one) => isTryOf(one, name)) : [];
  const tried = tries.map(({ epoch, checkpointFaults }) => `attempt ${epoch}${whereFailed(checkpointFaults)}`);
  const failed = tried.length === 0 ? '' : `, but could not be loaded in ${tried.slice(-5).join(', ')}`;
  return `step ${checkpoint.spec.step} (${name}): ${state}${failed}`;
}

function isTryOf({ reason, resumedFrom }: Attempt, name: string): boolean {
  return isCheckpointReason(reason) && resumedFrom?.checkpoint === name;
}

function whereFailed(faults: Attempt['checkpointFaults']): string {
  const [first] = faults ?? [];
  if (first === undefined) return '';
  return ` on ${first.node}${first.errno === undefined ? '' : ` (${first.errno})`}`;
}
