import { jobPrefix } from './child-names.ts';

/** The metadata of a job that names are derived from. */
interface NamedJob {
  readonly name: string;
  readonly uid: string;
}

/**
 * Name of the pod of `podIndex` in `epoch`: `<job, at most 34>-<8 of the UID>-e<epoch>-<6 of the hash>-<index>`, at most 63 characters.
 * Takes `metadata`. The hash is that of the epoch's Placement, from the end of its name, so the names of a gang are unknown before status
 * records its Placement and cannot be taken in advance. A Placement of a release without hashes in names has pods named `<job, at most
 * 40>-<8 of the UID>-e<epoch>-<index>`.
 */
export function podName(
  job: NamedJob,
  gang: { readonly epoch: number; readonly podIndex: number; readonly placement?: string | undefined },
): string {
  return `${gangName(job, gang)}-${gang.podIndex}`;
}

/** The prefix of the names of a gang's pods, and the name of objects of the whole gang. Takes `metadata`. */
export function gangName(
  job: NamedJob,
  { epoch, placement = '' }: { readonly epoch: number; readonly placement?: string | undefined },
): string {
  const [, hash] = /-e\d+-([0-9a-f]{6})[0-9a-f]{4}$/.exec(placement) ?? [];
  return hash === undefined ? `${jobPrefix(job)}-e${epoch}` : `${podPrefix(job)}-e${epoch}-${hash}`;
}

/** Whether a pod of the job may have that name, for any of its Placements. */
export function mayBePodOf(job: NamedJob, name: string): boolean {
  const [, prefix, hash] = /^(.*)-e\d{1,9}-(?:([0-9a-f]{6})-)?\d{1,9}$/.exec(name) ?? [];
  return prefix === (hash === undefined ? jobPrefix(job) : podPrefix(job));
}

/** Length to which the job's name is cut beside the hash. */
const MOST_JOB_CHARACTERS = 34;

function podPrefix({ name, uid }: NamedJob): string {
  return jobPrefix({ name: name.slice(0, MOST_JOB_CHARACTERS), uid });
}

/** Name of the gang of the pod with that name. */
export function gangOfPod(name: string): string {
  return name.replace(/-\d+$/, '');
}

/**
 * Epoch and index of the pod with that name; undefined: it is not a gang's name. A name is taken once and never changes, while labels may
 * change.
 */
export function podOfName(name: string): { readonly epoch: number; readonly podIndex: number } | undefined {
  const [, epoch, podIndex] = /-e(\d{1,9})-(?:[0-9a-f]{6}-)?(\d{1,9})$/.exec(name) ?? [];
  return epoch === undefined || podIndex === undefined
    ? undefined
    : { epoch: Number(epoch), podIndex: Number(podIndex) };
}

/**
 * Name of the Placement of `epoch` whose spec has that SHA-256: `<job, at most 40>-<8 of the UID>-e<epoch>-<10 of the hash>`. Takes
 * `metadata`. The hash prevents that the name is taken in advance for another placement.
 */
export function placementName(job: NamedJob, placement: { readonly epoch: number; readonly sha256: string }): string {
  return `${jobPrefix(job)}-e${placement.epoch}-${placement.sha256.slice(0, 10)}`;
}
