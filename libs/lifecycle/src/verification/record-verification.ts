/** What does the status of a checkpoint say once a worker has verified it? */
import {
  type Checkpoint,
  type CheckpointContents,
  type CheckpointEvidence,
  type CheckpointFileList,
  type CheckpointResourceStatus,
  type CheckpointVerification,
  isAdopted,
  MAX_EVIDENCE,
} from '@coxswain/api-types';
import { isAsClose, isFoundBroken } from '@coxswain/checkpoint';
import { safeText } from '@coxswain/safe-text';
import { isOld } from './wanted-verifications.ts';

/** What a worker found. */
export interface WorkerVerdict {
  readonly verification: CheckpointVerification;
  readonly contents?: CheckpointContents | undefined;
  /** Of an adopted checkpoint. */
  readonly files?: CheckpointFileList | undefined;
  /** Newest attempt of the job: evidence of attempts before the last that trained from the checkpoint does not count. */
  readonly epoch: number;
}

/** Begins the message about a verification that could not be done. */
const UNDONE = 'It could not be verified: ';
const MAX_CHARACTERS = 1024;

/**
 * The status with the verdict. Other content that one node found is evidence, and not a condemnation: another node has to find it too. A look that is less
 * close than the one before replaces it only if it finds the checkpoint broken.
 */
export function withVerdict({ spec, status }: Checkpoint, verdict: WorkerVerdict): CheckpointResourceStatus {
  const { verification, contents, files } = verdict;
  const before = readStatus(withoutUndone(present(status ?? { state: 'Complete' }, verification)));
  const isBroken = isFoundBroken({ status: { state: before.state, verification } });
  const isKept =
    before.verification !== undefined &&
    !isBroken &&
    !(isFoundAgain(status, verification) && isFoundBroken({ status: before })) &&
    !isAsClose(verification.level, before.verification.level) &&
    // Files that changed since then were never read as closely.
    before.files?.sha256 === files?.sha256;
  // What is not there says nothing of the storage, and no job resumes from it.
  const isThere = before.absent === undefined;
  const suspect =
    isBroken && isThere && before.state === 'Complete' ? suspicionOf(before, evidenceOf(spec, verdict)) : undefined;
  const { suspect: _, ...unsuspected } = before;
  return {
    ...(doesClear(before, verification) ? unsuspected : before),
    ...(suspect === undefined ? {} : { suspect }),
    ...(isKept ? {} : { verification }),
    ...(contents === undefined ? {} : { contents: withGroups(contents, before.contents) }),
    ...(files === undefined ? {} : { files }),
  };
}

/** A worker leaves out groups of tensors that do not fit its answer. Equal geometries have equal groups. */
function withGroups(contents: CheckpointContents, before: CheckpointContents | undefined): CheckpointContents {
  const tensorGroups = contents.geometry === before?.geometry ? before.tensorGroups : undefined;
  return tensorGroups === undefined ? contents : { tensorGroups, ...contents };
}

/** Whether a verification shows that files, which a worker did not find before, are there: their mount or their bucket came back. */
export function isFoundAgain(before: CheckpointResourceStatus | undefined, now: CheckpointVerification): boolean {
  return before?.absent !== undefined && now.verdict === 'sound';
}

function present(status: CheckpointResourceStatus, now: CheckpointVerification): CheckpointResourceStatus {
  const { absent: _, ...there } = status;
  return isFoundAgain(status, now) ? there : status;
}

/** An adopted checkpoint that was read is no longer unverified. */
function readStatus(status: CheckpointResourceStatus): CheckpointResourceStatus {
  return status.state === 'Unverified' ? { ...status, state: 'Complete' } : status;
}

/**
 * Whether a verification takes back what the same node found: no other node found other content, and after an hour a worker on that node finds all bytes right.
 * On a cluster of one node, no other verification can.
 */
export function doesClear(before: CheckpointResourceStatus, now: CheckpointVerification): boolean {
  const { suspect, verification: earlier } = before;
  return (
    now.verdict === 'sound' &&
    now.by === 'Worker' &&
    now.node !== undefined &&
    isAsClose(now.level, 'V3') &&
    suspect?.reason === 'ContentDiffers' &&
    suspect.evidence.every(({ node }) => node === now.node) &&
    isFoundBroken({ status: before }) &&
    earlier?.node === now.node &&
    isOld(earlier, Date.parse(now.at))
  );
}

/** The status of a checkpoint that no worker could verify, which says nothing of its bytes; undefined: it says so already, or another message counts more. */
export function withUndone(checkpoint: Checkpoint, why: string): CheckpointResourceStatus | undefined {
  const status = checkpoint.status ?? (isAdopted(checkpoint) ? { state: 'Unverified' as const } : undefined);
  if (status === undefined || status.state === 'Damaged' || status.suspect !== undefined) return undefined;
  const message = safeText(`${UNDONE}${why}`, MAX_CHARACTERS);
  return status.message === message ? undefined : { ...status, message };
}

function withoutUndone({ message, ...status }: CheckpointResourceStatus): CheckpointResourceStatus {
  return message === undefined || message.startsWith(UNDONE) ? status : { ...status, message };
}

function evidenceOf(
  { path }: Checkpoint['spec'],
  { verification, epoch }: WorkerVerdict,
): CheckpointEvidence | undefined {
  const { node, findings } = verification;
  if (node === undefined) return undefined;
  const found = safeText(findings[0]?.message ?? verification.verdict, 128);
  return { epoch, node, kind: 'ContentDiffers', path: path.slice(-256), expected: 'what was saved', found };
}

function suspicionOf(
  { suspect }: CheckpointResourceStatus,
  evidence: CheckpointEvidence | undefined,
): CheckpointResourceStatus['suspect'] {
  if (evidence === undefined) return suspect;
  const others = (suspect?.evidence ?? []).filter(
    ({ node, kind }) => node !== evidence.node || kind !== 'ContentDiffers',
  );
  return { reason: 'ContentDiffers', evidence: [...others.slice(1 - MAX_EVIDENCE), evidence] };
}
