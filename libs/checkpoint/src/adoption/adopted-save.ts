/** What is known of a checkpoint that a user adopted, and what must be the same when a job resumes from it? */
import { type Checkpoint, type CheckpointLocation, isAdopted, NO_MANIFEST } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { stepOfDirectory } from '../formats/formats.ts';
import { isFoundBroken } from '../newest-restorable.ts';
import type { Sha256 } from '../read/save-files.ts';

/** SHA-256 of the list of files: paths and sizes, in any order. `hash`: a fresh one. */
export function fileListSha256(
  files: readonly { readonly path: string; readonly bytes: number }[],
  hash: Sha256,
): string {
  for (const { path, bytes } of files.toSorted(byPath)) hash.update(`${bytes} ${JSON.stringify(path)}\n`);
  return hash.digest('hex');
}

function byPath({ path: one }: { readonly path: string }, { path: other }: { readonly path: string }): number {
  return one < other ? -1 : Number(one > other);
}

/** The adopted checkpoint as the job with this UID sees it: its own, with the facts that a verification found. */
export function adoptedSave(checkpoint: Checkpoint, jobUid: string): Checkpoint {
  const { spec, status } = checkpoint;
  const { format = spec.format } = status?.contents ?? {};
  const step = stepOf(checkpoint) ?? 0;
  const { bytes, count: files, manifestSha256 = NO_MANIFEST } = status?.files ?? { bytes: 0, count: 0 };
  return { ...checkpoint, spec: { ...spec, jobUid, step, format, bytes, files, manifestSha256 } };
}

/** Step of what it was converted from, or that its files name, or else its directory, as engines name it. */
function stepOf({ spec, status }: Checkpoint): number | undefined {
  if (spec.convertedFrom !== undefined) return spec.convertedFrom.step;
  const directory = spec.path.replace(/\/+$/, '').split('/').at(-1) ?? '';
  return status?.contents?.step ?? stepOfDirectory(directory);
}

/** SHA-256 of the list of its files, which launchers compare; undefined: a manifest says more. */
export function comparedFileList(checkpoint: Checkpoint): string | undefined {
  const files = isAdopted(checkpoint) ? checkpoint.status?.files : undefined;
  return files?.manifestSha256 === undefined ? files?.sha256 : undefined;
}

/**
 * Where a job that saves to `location` finds the checkpoint, below its own mount or prefix. Undefined: it is in a bucket, or below a prefix, that the job does
 * not have. An adopted one in a claim is mounted where it is.
 */
export function pathForJob({ spec }: Checkpoint, location: CheckpointLocation | undefined): string | undefined {
  const { bucket, path } = spec;
  if (bucket === undefined) return path;
  const own = location?.bucket;
  if (own === undefined || own.endpoint !== bucket.endpoint) return undefined;
  if (bucket.uri === own.uri) return path;
  return bucket.uri.startsWith(`${own.uri}/`) ? `${bucket.uri.slice(own.uri.length + 1)}/${path}` : undefined;
}

/**
 * Why no job can resume from the adopted checkpoint, completing "which ..."; undefined: jobs can, or a job saved it. `job`: where a certain job saves; absent:
 * any job.
 */
export function adoptionProblem(
  checkpoint: Checkpoint,
  job?: { readonly location: CheckpointLocation | undefined },
): string | undefined {
  if (!isAdopted(checkpoint)) return undefined;
  if (job !== undefined && pathForJob(checkpoint, job.location) === undefined)
    return `is adopted and in bucket ${checkpoint.spec.bucket?.uri ?? ''}, below no prefix of the job; copy it there with coxswain checkpoint export, and adopt the copy`;
  const { verification, contents, message, files, conversion } = checkpoint.status ?? {};
  if (conversion?.droppedAt !== undefined) return 'is being deleted, because no job needs the converted save any more';
  if (checkpoint.spec.convertedFrom !== undefined && conversion?.convertedAt === undefined)
    return 'is not converted yet';
  const why = message === undefined ? '' : `: ${message}`;
  if (verification === undefined || files === undefined) return `is adopted and not verified yet${why}`;
  if (isFoundBroken(checkpoint)) {
    const [first] = verification.findings;
    return `is adopted and ${verification.verdict}${first === undefined ? '' : `: ${first.message}`}`;
  }
  if (contents === undefined) return 'is adopted, and no reader says what it holds';
  if (stepOf(checkpoint) === undefined)
    return 'is adopted, and neither its files nor the name of its directory say which step it holds';
  return contents.isResumable
    ? undefined
    : 'is adopted and holds no optimizer state; name its claim and path in spec.initialWeights to begin from its weights';
}

/** Whether the recorded layout says how the save is divided. An adopted one has a layout of one rank if its user stated none. */
export function hasKnownLayout(checkpoint: { readonly spec: Pick<Checkpoint['spec'], 'jobName' | 'layout'> }): boolean {
  return !isAdopted(checkpoint) || worldSize(checkpoint.spec.layout) > 1;
}
