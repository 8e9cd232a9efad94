import { type Checkpoint, jobPrefix, type TrainingJob } from '@coxswain/api-types';

/** Identifies a run of a job’s ranks: an incarnation of an attempt. No incarnation means the first. */
export interface Fence {
  readonly epoch: number;
  readonly incarnation?: number | undefined;
}

/** Name of the Checkpoint object of a step that a fence saved: deterministic, so that reporting it twice creates it once. Takes `metadata`. */
export function checkpointName(
  job: { readonly name: string; readonly uid: string },
  saved: Fence & { readonly step: number },
): string {
  return `${jobPrefix(job)}-e${saved.epoch}${laterThanFirst(saved, 'i')}-s${saved.step}`;
}

/**
 * Directory inside the checkpoint claim that belongs to one fence alone: `<spec.checkpoint.path>/<job name>-<8 of the UID>/epoch-<n>`, with
 * `-<incarnation>` from the second one on. An earlier one that still writes cannot touch it. undefined when the job keeps no checkpoints.
 */
export function saveDirectoryOf(job: Pick<TrainingJob, 'metadata' | 'spec'>, fence: Fence): string | undefined {
  const path = job.spec.checkpoint?.path;
  if (path === undefined) return undefined;
  const own = runDirectory(job.metadata, fence);
  const base = path.replace(/\/+$/, '');
  return base === '' ? own : `${base}/${own}`;
}

/** Folder of logs, beside the folders of jobs. */
const LOGS = 'coxswain-logs';

/** Where the logs of a namespace's jobs are kept, and the job's folder in it. */
export interface KeptLogsPlace {
  readonly folder: string;
  readonly job: string;
}

/**
 * Where a job that saves to this directory keeps its logs, inside the claim or bucket: `<spec.checkpoint.path>/coxswain-logs/<namespace>/<job name>-<8 of the
 * UID>`. The namespace is a folder because projects can share a bucket, and only the logs of one namespace are bounded together.
 */
export function keptLogsPlace(saveDirectory: string, namespace: string): KeptLogsPlace {
  const [job = '', ...above] = saveDirectory.split('/').slice(0, -1).reverse();
  return { folder: [...above.reverse(), LOGS, namespace].join('/'), job };
}

/** Which run saved a Checkpoint, and where. */
export type SavePlace = Pick<Checkpoint['spec'], 'jobName' | 'jobUid' | 'path' | 'epoch' | 'incarnation'>;

/**
 * Whether the path is that of a save in the directory of the run that the Checkpoint names. Everything else, such as a folder that a user wrote, is not
 * Coxswain's to delete.
 */
export function isOwnSave({ jobName, jobUid, path, ...fence }: SavePlace): boolean {
  const run = runDirectory({ name: jobName, uid: jobUid }, fence);
  const at = `/${path}/`.indexOf(`/${run}/`);
  const below = at < 0 ? '' : path.slice(at + run.length + 1);
  return below !== '' && !path.split('/').some((part) => part === '' || part === '.' || part === '..');
}

function runDirectory(job: { readonly name: string; readonly uid: string }, fence: Fence): string {
  return `${job.name}-${job.uid.slice(0, 8)}/epoch-${fence.epoch}${laterThanFirst(fence, '-')}`;
}

/** The incarnation as the spec of a Checkpoint records it: the first is left out. */
export function incarnationOf({ incarnation = 1 }: Pick<Fence, 'incarnation'>): { readonly incarnation?: number } {
  return incarnation === 1 ? {} : { incarnation };
}

function laterThanFirst({ incarnation = 1 }: Fence, mark: string): string {
  return incarnation === 1 ? '' : `${mark}${incarnation}`;
}

/** End of the name of a folder that holds one converted save and nothing else. */
const CONVERSION = '.coxswain-converted';

/** Folder that Coxswain makes beside a save for what it is converted to. No engine takes its name for a save. */
export function conversionFolder(path: string): string {
  return `${trimmed(path)}${CONVERSION}`;
}

/** Whether Coxswain made the folder for a converted save. */
export function isConversionFolder(path: string): boolean {
  return path.endsWith(CONVERSION) && !path.split('/').some((part) => part === '' || part === '.' || part === '..');
}

/** Directory of the converted save in that folder: its name is the save's own and the format, because programs get it as a tag. */
export function convertedPath(path: string, format: string): string {
  return `${conversionFolder(path)}/${trimmed(path).split('/').at(-1) ?? ''}_${format}`;
}

/** Name of the Checkpoint of the converted save. */
export function convertedName(checkpoint: string, format: string): string {
  return `${checkpoint.slice(0, MAX_NAME - format.length - 1)}-${format}`;
}

const MAX_NAME = 253;

function trimmed(path: string): string {
  return path.replace(/\/+$/, '');
}
