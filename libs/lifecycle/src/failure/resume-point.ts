/** Which step does the next attempt resume from? More than 400 lines: each reason to pass a checkpoint over is weighed against the others. */
import {
  type Attempt,
  type Checkpoint,
  type CheckpointEvidence,
  type CheckpointFaultOnNode,
  describeLocation,
  isAdopted,
  isSameRequest,
  MAX_PASSED_OVER,
  MAX_REREAD_FILES,
  type PassedOverCheckpoint,
  type ResumeFrom,
  SCRATCH,
} from '@coxswain/api-types';
import {
  adoptionProblem,
  describeLoadRefusal,
  isFoundBroken,
  isNewer,
  newestRestorable,
  recordedSave,
} from '@coxswain/checkpoint';
import { capitalize } from '@coxswain/health';
import type { ParallelLayout } from '@coxswain/layout';
import { safeText } from '@coxswain/safe-text';
import {
  type CheckpointStanding,
  describeCondemnation,
  describeSuspicion,
  isCheckpointReason,
  type Standings,
  standingOf,
  standingsOf,
} from './checkpoint-standing.ts';
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

/** Attempts in a row that ended while loading any checkpoint, and not because storage did not read. */
const MAX_TRIES_IN_A_ROW = 10;
/** A damaged checkpoint is verified again at most this often: its content is read, and storage is mended by people. */
const VERIFY_DAMAGED_MS = 3_600_000;
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
 * Why the gang could not load its checkpoint at this layout, as a whole sentence; undefined: it can, or there is nothing to load. What its
 * files say counts before the layout that it was saved at.
 */
export function loadRefusal(point: ResumePoint, layout: ParallelLayout): string | undefined {
  if (point.kind !== 'checkpoint') return undefined;
  const why = describeLoadRefusal(recordedSave(point.checkpoint), layout);
  return why === undefined ? undefined : `Checkpoint ${point.checkpoint.metadata.name} ${why}.`;
}

/**
 * The newest usable checkpoint, as far as is known; undefined: none. Those that are passed over come last, because launchers verify each checkpoint before
 * they load it.
 */
export function newestUsable(record: JobRecord, facts: Facts): Checkpoint | undefined {
  const standings = standingsOf(record);
  const undamaged = undamagedCheckpoints(record, facts, standings);
  const readable = undamaged.filter((one) => !isPassedOver(one, standings));
  const { uid: jobUid } = facts.job.metadata;
  const newestOf = (some: readonly Checkpoint[]): Checkpoint | undefined =>
    newestRestorable(some.map(asTakenBack), { jobUid });
  return newestOf(readable) ?? newestOf(undamaged);
}

/** Checkpoints that the job may resume from, newest first. */
export function restorableCheckpoints(record: JobRecord, facts: Facts): readonly Checkpoint[] {
  const standings = standingsOf(record);
  return newestFirst(
    undamagedCheckpoints(record, facts, standings).filter(
      (one) => !isPassedOver(one, standings) && !isFoundBroken(one) && one.metadata.deletionTimestamp === undefined,
    ),
  );
}

function undamagedCheckpoints(record: JobRecord, facts: Facts, standings: Standings): readonly Checkpoint[] {
  return ownCheckpoints(record, facts).filter((one) => standingOf(one, standings).kind !== 'damaged');
}

/** A verdict that is taken back counts from then on, also while the object still has it. */
function asTakenBack(checkpoint: Checkpoint): Checkpoint {
  const { state, contents, files } = checkpoint.status ?? {};
  if (state !== 'Damaged') return checkpoint;
  return { ...checkpoint, status: { state: 'Complete', ...(contents && { contents }), ...(files && { files }) } };
}

/** Whether that checkpoint is observed to be unusable, or passed over in favour of another one. */
export function isUseless(name: string, record: JobRecord, facts: Facts): boolean {
  const seen = facts.checkpoints.find(({ metadata }) => metadata.name === name);
  if (seen !== undefined && (!isOfThisLine(seen, record, facts) || isFoundBroken(seen))) return true;
  const standing = standingsOf(record)(name, seen?.status);
  if (standing.kind === 'damaged') return true;
  return standing.kind === 'suspect' && standing.isPassedOver && newestUsable(record, facts)?.metadata.name !== name;
}

function isPassedOver(checkpoint: Checkpoint, standings: Standings): boolean {
  const standing = standingOf(checkpoint, standings);
  return standing.kind === 'suspect' && standing.isPassedOver;
}

/**
 * Checkpoints that are newer than the one that an epoch begins from, and suspect or damaged by content, newest first. A launcher verifies them before the
 * ranks start. One that verified and then failed to load is not verified again until an attempt has trained. Damaged ones are verified once an hour at most,
 * and without `now` not at all.
 */
export function passedOverBy(
  from: UsablePoint,
  record: JobRecord,
  { facts, now }: { readonly facts: Facts; readonly now?: Date },
): readonly PassedOverCheckpoint[] {
  if (from.kind !== 'checkpoint' || from.answers !== undefined) return [];
  const { jobUid } = from.checkpoint.spec;
  const standings = standingsOf(record);
  const verified = new Set(triesInARow(record).map(({ verifiedCheckpoint }) => verifiedCheckpoint));
  const newer = ownCheckpoints(record, facts).filter(
    (one) =>
      one.spec.jobUid === jobUid &&
      !isAdopted(one) &&
      one.metadata.deletionTimestamp === undefined &&
      isNewer(one, from.checkpoint),
  );
  return newestFirst(newer)
    .filter((one) => !verified.has(one.metadata.name))
    .filter((one) => isPassedOver(one, standings) || isDamageDue(one, { standings, record, now }))
    .slice(0, MAX_PASSED_OVER)
    .map((one) => passedOver(one, standings));
}

/** Whether a checkpoint that two nodes found damaged is to be verified again. What a user has marked is not. */
function isDamageDue(
  checkpoint: Checkpoint,
  about: { readonly standings: Standings; readonly record: JobRecord; readonly now: Date | undefined },
): boolean {
  const standing = standingOf(checkpoint, about.standings);
  if (about.now === undefined || standing.kind !== 'damaged' || standing.condemnation?.by !== 'Content') return false;
  const { name } = checkpoint.metadata;
  const sinceMs = about.now.getTime() - VERIFY_DAMAGED_MS;
  return !about.record.attempts.some(
    ({ startedAt, passedOver = [], resumedFrom }) =>
      Date.parse(startedAt) > sinceMs &&
      (resumedFrom?.checkpoint === name || passedOver.some((one) => one.checkpoint === name)),
  );
}

function passedOver(checkpoint: Checkpoint, standings: Standings): PassedOverCheckpoint {
  const { step, path, manifestSha256 } = checkpoint.spec;
  const { evidence, why } = heldAgainst(standingOf(checkpoint, standings));
  return {
    checkpoint: checkpoint.metadata.name,
    step,
    path,
    manifestSha256,
    files: [...new Set(evidence.map((finding) => finding.path))].slice(0, MAX_REREAD_FILES),
    why: safeText(why, 512),
  };
}

function heldAgainst(standing: CheckpointStanding): {
  readonly evidence: readonly CheckpointEvidence[];
  readonly why: string;
} {
  if (standing.kind === 'suspect') {
    return { evidence: standing.suspicion.evidence, why: describeSuspicion(standing.suspicion, true) };
  }
  if (standing.kind !== 'damaged' || standing.condemnation === undefined) return { evidence: [], why: '' };
  return { evidence: standing.condemnation.evidence, why: describeCondemnation(standing.condemnation) };
}

function pendingRequest(record: JobRecord, facts: Facts): ResumeFrom | undefined {
  const asked = facts.spec?.resumeFrom;
  return asked === undefined || isSameRequest(asked, record.resumeFrom) ? undefined : asked;
}

/** Checkpoints since the last answered `spec.resumeFrom`, and the one that it named. An adopted one counts once its request was answered. */
function ownCheckpoints(record: JobRecord, facts: Facts): readonly Checkpoint[] {
  return facts.checkpoints.filter((checkpoint) => isOfThisLine(checkpoint, record, facts));
}

function isOfThisLine(checkpoint: Checkpoint, { resumeFrom }: JobRecord, { spec: job }: Facts): boolean {
  const { metadata, spec } = checkpoint;
  if (resumeFrom === undefined || metadata.name !== resumeFrom.from) {
    return !isAdopted({ spec }) && (resumeFrom === undefined || spec.epoch >= resumeFrom.epoch);
  }
  // Another one can have been adopted under the same name since.
  return adoptionProblem(checkpoint, { location: job?.checkpoint }) === undefined;
}

function newestPoint(record: JobRecord, facts: Facts): ResumePoint {
  const checkpoint = newestUsable(record, facts);
  if (checkpoint === undefined) {
    return isAnyKnown(record, facts) ? none(WHY_NONE, record, facts) : { kind: 'scratch' };
  }
  const tries = triesInARow(record);
  // One that verified shows that storage is back. While storage does not read, the job waits for it, and not for a user.
  const lastVerified = tries.findLastIndex(({ verifiedCheckpoint }) => verifiedCheckpoint !== undefined);
  const recent = tries.slice(lastVerified + 1);
  const last = recent.slice(-MAX_TRIES_IN_A_ROW);
  const lost = last.length < MAX_TRIES_IN_A_ROW ? undefined : lostFile(last, record, facts);
  if (lost !== undefined) return none(describeLostFile(checkpoint, lost), record, facts);
  const unread = recent.filter((attempt) => !isEndedByStorage(attempt)).length;
  if (unread >= MAX_TRIES_IN_A_ROW)
    return none(`${unread} attempts in a row ended while they loaded a checkpoint.`, record, facts);
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

/**
 * The finding about the one file that each of these attempts could not read from the job's only checkpoint, while its mount worked; undefined: there is no
 * such file. An outage of storage shows in other files, in other checkpoints or in the mount as well, and ends by itself.
 */
function lostFile(tries: readonly Attempt[], record: JobRecord, facts: Facts): CheckpointFaultOnNode | undefined {
  const [only, ...others] = undamagedCheckpoints(record, facts, standingsOf(record));
  const isOfFile = (attempt: Attempt): boolean =>
    attempt.resumedFrom?.checkpoint === only?.metadata.name &&
    isEndedByStorage(attempt) &&
    attempt.checkpointFaults?.every(({ kind }) => kind === 'FileUnreadable') === true;
  if (only === undefined || others.length > 0 || !tries.every(isOfFile)) return undefined;
  return tries
    .at(-1)
    ?.checkpointFaults?.find(({ path }) =>
      tries.every(({ checkpointFaults = [] }) => checkpointFaults.some((fault) => fault.path === path)),
    );
}

/** Names the file, and what becomes of the checkpoint. What a user can do follows it. */
function describeLostFile({ metadata, spec }: Checkpoint, { path, node, errno }: CheckpointFaultOnNode): string {
  const code = errno === undefined ? '' : ` (${errno})`;
  return `File ${path} of checkpoint ${metadata.name} could not be read in ${MAX_TRIES_IN_A_ROW} attempts in a row, last on ${node}${code}, although ${describeLocation(spec)} works. The job tries no longer, and the checkpoint stays as it is. If the file is restored, continue from this checkpoint.`;
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

/** Whether the attempt ended because storage did not read, and nothing was found wrong with what it read. */
function isEndedByStorage({ reason, checkpointFaults: faults = [] }: Attempt): boolean {
  return reason === 'CheckpointIoError' && faults.length > 0 && faults.every(({ kind }) => kind !== 'ContentDiffers');
}

/** Sentences after a space on the claim that the job waits for, if the last attempt ended because storage did not read; otherwise empty. */
export function describeUnreadableClaim(record: JobRecord, facts: Facts): string {
  const last = record.attempts.at(-1);
  if (last === undefined || !isEndedByStorage(last)) return '';
  const { resumedFrom, checkpointFaults: faults = [] } = last;
  const loaded = facts.checkpoints.find(({ metadata }) => metadata.name === resumedFrom?.checkpoint);
  const place = loaded?.spec ?? facts.spec?.checkpoint;
  if (place === undefined) return '';
  const where = describeLocation(place);
  const nodes = [...new Set(faults.map(({ node }) => node))].join(', ');
  const isWhole = faults.every(({ kind }) => kind === 'MountBroken');
  const what = isWhole
    ? `${capitalize(where)} could not be read on ${nodes}, so no checkpoint is blamed.`
    : `A file of checkpoint ${resumedFrom?.checkpoint ?? ''} on ${where} could not be read on ${nodes}.`;
  const isBounded = lostFile(triesInARow(record), record, facts) !== undefined;
  const next = isBounded
    ? `If no attempt reads the file in ${MAX_TRIES_IN_A_ROW} tries in a row, the job waits for a user.`
    : 'The job tries again until storage can be read.';
  return ` ${what} ${next}`;
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
  const elsewhere = checkpoint && adoptionProblem(checkpoint, { location: facts.spec?.checkpoint });
  const problem = elsewhere ?? problemOf(checkpoint, undefined);
  if (checkpoint !== undefined && problem === undefined) return { kind: 'checkpoint', checkpoint, answers };
  return none(`spec.resumeFrom names checkpoint ${from}, which ${problem ?? 'cannot be used'}.`, record, facts);
}

/**
 * Completes "which ..."; undefined: the checkpoint is usable. Without standings, damage is no problem: a user may ask for a checkpoint that was mended, and
 * launchers verify it.
 */
function problemOf(checkpoint: Checkpoint | undefined, standings: Standings | undefined): string | undefined {
  if (checkpoint === undefined)
    return 'this job does not have; one of another job can be used once it is adopted (coxswain checkpoint adopt)';
  const unusable = adoptionProblem(checkpoint);
  if (unusable !== undefined) return unusable;
  const { metadata, status } = checkpoint;
  if (status?.deletion !== undefined) return 'is being deleted by the retention policy';
  const standing = standings === undefined ? undefined : standingOf(checkpoint, standings);
  if (standing?.kind === 'damaged') {
    const { condemnation } = standing;
    const why = condemnation === undefined ? status?.message : describeCondemnation(condemnation);
    return `is damaged: ${why ?? 'no reason is recorded'}`;
  }
  if (status?.state === undefined) return 'was never marked complete';
  if (standings !== undefined && isFoundBroken(checkpoint)) return describeVerification(status.verification);
  return metadata.deletionTimestamp === undefined ? undefined : 'is being deleted';
}

/** `is incomplete, as a verification of its bytes on node-a found: File x is not there.` */
export function describeVerification(verification: NonNullable<Checkpoint['status']>['verification']): string {
  const { verdict = 'damaged', node, findings = [] } = verification ?? {};
  const where = node === undefined ? '' : ` on ${node}`;
  const [first] = findings;
  return `is ${verdict}, as a verification of its bytes${where} found${first === undefined ? '' : `: ${first.message}`}`;
}

const MAX_LISTED = 10;
const MAX_ENTRY_CHARACTERS = 300;

/** Message with what happened, what to do, and the known checkpoints, newest first. Columns show only its first words. */
export function noPoint(what: string, record: JobRecord, facts: Facts): string {
  const { name } = facts.job.metadata;
  const choice = `Training never begins from scratch by itself: choose with coxswain resume ${name} --from CHECKPOINT (or scratch), or with spec.resumeFrom.`;
  const standings = standingsOf(record);
  const entries = newestFirst(facts.checkpoints).map((one) =>
    entryOf(one, { record, standings, isOwn: isOfThisLine(one, record, facts) }),
  );
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
  return `${what} ${choice} Known: ${known === '' ? 'none' : known}.`;
}

function none(what: string, record: JobRecord, facts: Facts): ResumePoint {
  return { kind: 'none', message: noPoint(what, record, facts) };
}

function newestFirst(checkpoints: readonly Checkpoint[]): readonly Checkpoint[] {
  return checkpoints.toSorted((one, other) => other.spec.step - one.spec.step || other.spec.epoch - one.spec.epoch);
}

/** `step 40 (tiny-gpt-3f1c2b9e-e1-s40): usable; could not be loaded in epoch 3 on node-a (ESTALE)` */
function entryOf(
  checkpoint: Checkpoint,
  { record, standings, isOwn }: { readonly record: JobRecord; readonly standings: Standings; readonly isOwn: boolean },
): string {
  const { name } = checkpoint.metadata;
  const problem = problemOf(checkpoint, standings);
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
