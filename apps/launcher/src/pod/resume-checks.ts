/** Can the checkpoint to resume from be used, is a newer one well, and what is wrong with one that a rank could not load? */
import { join } from 'node:path';
import { type CheckpointFault, MAX_RANKS_PER_POD, parseRanks, type RankAssignment } from '@coxswain/api-types';
import type { BucketSaves, DownloadProblem } from '../bucket/bucket-saves.ts';
import {
  confirmFaultInProcess,
  verifyResumedInProcess,
  verifySuspectInProcess,
} from '../checkpoints/verifier-process.ts';
import {
  checkpointVerdict,
  plainVerdict,
  type Verdict,
  verifiedVerdict,
  withConfirmedFault,
} from '../ending/verdict.ts';
import type { Settings } from '../program/settings.ts';
import type { Order } from '../reports/report-connection.ts';

/** The verdict on a checkpoint that could not be downloaded: a disk of the node that is full says nothing about it. */
function downloadVerdict({ why, fault }: DownloadProblem, path: string): Verdict {
  const message = `the checkpoint ${path} could not be downloaded: ${why}`;
  return fault === undefined ? plainVerdict('launcherFailed', message) : checkpointVerdict(message, fault);
}

/** Global ranks of the pod, ascending. */
export function ranksOf({ ranks }: RankAssignment): readonly number[] {
  return parseRanks(ranks, MAX_RANKS_PER_POD);
}

/** Directory of the checkpoint to resume from. */
export function resumeDirectory(
  { checkpointMount }: Pick<Settings, 'checkpointMount'>,
  { mountPath, path }: NonNullable<RankAssignment['resume']>,
): string {
  return join(mountPath ?? checkpointMount, path);
}

/**
 * The verdict if a suspect checkpoint verified that is newer than the one to resume from. Verified after the older one: storage that reads that one reads this
 * one too, if it is well.
 */
export async function newerVerdict(
  assignment: RankAssignment,
  about: {
    readonly settings: Settings;
    readonly bucket: BucketSaves | undefined;
    /** Newest first. */
    readonly suspects: Extract<Order, { kind: 'verifyWanted' }>['checkpoints'];
    readonly logLine: (sentence: string) => void;
  },
): Promise<Verdict | undefined> {
  const { settings, bucket, suspects, logLine } = about;
  if (ranksOf(assignment)[0] !== 0) return undefined;
  for (const { checkpoint, path, manifestSha256, files } of suspects) {
    const problem = await bucket?.download({ folder: path, manifestSha256 });
    if (problem !== undefined) {
      logLine(`Checkpoint ${checkpoint} is still suspect: ${problem.why}`);
      continue;
    }
    const directory = join(settings.checkpointMount, path);
    const asked = { checkpoint: { directory, manifestSha256 }, files };
    const seen = await verifySuspectInProcess(asked, { patienceMs: settings.mountPatienceMs });
    if (seen.kind === 'verified') return verifiedVerdict(checkpoint);
    logLine(`Checkpoint ${checkpoint} is still suspect: ${seen.why}.`);
  }
  return undefined;
}

/** The verdict with the fault as this launcher finds it, if a rank reported one of the checkpoint that it loaded. Not once the pod is asked to stop. */
export async function withOwnFinding(
  verdict: Verdict,
  { resume }: RankAssignment,
  { settings, stopped }: { readonly settings: Settings; readonly stopped: Promise<unknown> },
): Promise<Verdict> {
  const { checkpointFault: fault } = verdict;
  // What one rank says of files without a manifest cannot be compared with anything.
  if (resume === undefined || fault === undefined || resume.filesSha256 !== undefined) return verdict;
  const directory = resumeDirectory(settings, resume);
  const asked = { checkpoint: { directory, manifestSha256: resume.manifestSha256 }, fault };
  const own = await Promise.race([
    confirmFaultInProcess(asked, { patienceMs: settings.mountPatienceMs }),
    stopped.then(() => undefined),
  ]);
  if (own === undefined) return verdict;
  const isCopy = settings.bucket !== undefined && !isOnAnotherClaim(resume);
  return withConfirmedFault(verdict, isCopy ? asFaultOfCopy(own) : own);
}

/** An adopted checkpoint is read where it is, also by a job that saves to a bucket. */
function isOnAnotherClaim({ mountPath }: NonNullable<RankAssignment['resume']>): boolean {
  return mountPath !== undefined;
}

/** The copy had the right content when it was downloaded, so what differs now is the disk of the node and not the checkpoint. */
function asFaultOfCopy({ kind, path, ...fault }: CheckpointFault): CheckpointFault {
  return { ...fault, kind: kind === 'ContentDiffers' ? 'FileUnreadable' : kind, path };
}

/**
 * The verdict if the checkpoint to resume from cannot be used; undefined if it can. Each pod verifies the files of its own ranks, after it has downloaded all
 * files if they are in a bucket.
 */
export async function resumeProblem(
  { settings, bucket }: { readonly settings: Settings; readonly bucket: BucketSaves | undefined },
  assignment: RankAssignment,
): Promise<Verdict | undefined> {
  const { resume, worldSize } = assignment;
  if (resume === undefined) return undefined;
  const directory = resumeDirectory(settings, resume);
  const { manifestSha256, filesSha256 } = resume;
  const problem = isOnAnotherClaim(resume)
    ? undefined
    : await bucket?.download({
        folder: resume.path,
        ...(filesSha256 === undefined ? { manifestSha256 } : { filesSha256 }),
      });
  if (problem !== undefined) return downloadVerdict(problem, resume.path);
  const ranks = { ranks: ranksOf(assignment), worldSize };
  const outcome = await verifyResumedInProcess(
    { checkpoint: { directory, manifestSha256, filesSha256 }, ranks },
    { patienceMs: settings.mountPatienceMs },
  );
  if (outcome.kind === 'verified') return undefined;
  // Not the checkpoint's fault: after three of those a person would have to choose another checkpoint.
  if (outcome.kind === 'notVerified')
    return plainVerdict('launcherFailed', `the checkpoint ${directory} could not be verified: ${outcome.why}`);
  return checkpointVerdict(`the checkpoint ${directory} did not verify: ${outcome.why}`, outcome.fault);
}
