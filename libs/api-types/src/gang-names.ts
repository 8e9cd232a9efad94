import { jobPrefix } from './child-names.ts';

/** The part of a job's metadata that names are made from. */
interface NamedJob {
  readonly name: string;
  readonly uid: string;
}

/**
 * Name of the pod of `podIndex` in `epoch`: `<job, at most 34>-<8 of the UID>-e<epoch>-<6 of the hash>-<index>`, at most 63 characters. Takes `metadata`.
 * The hash is that of the epoch's Placement, as the end of its name says: before status records it nobody can take the names of a gang in advance. A
 * Placement of a release that named it without its hash had pods without it, `<job, at most 40>-<8 of the UID>-e<epoch>-<index>`.
 */
export function podName(
  job: NamedJob,
  gang: { readonly epoch: number; readonly podIndex: number; readonly placement?: string | undefined },
): string {
  return `${gangName(job, gang)}-${gang.podIndex}`;
}

/** What the names of a gang's pods begin with; its own name, where the gang as a whole has something that is named. Takes `metadata`. */
export function gangName(
  job: NamedJob,
  { epoch, placement = '' }: { readonly epoch: number; readonly placement?: string | undefined },
): string {
  const [, hash] = /-e\d+-([0-9a-f]{6})[0-9a-f]{4}$/.exec(placement) ?? [];
  return hash === undefined ? `${jobPrefix(job)}-e${epoch}` : `${podPrefix(job)}-e${epoch}-${hash}`;
}

/** Whether the job may have given that name to a pod, of whichever Placement. */
export function mayBePodOf(job: NamedJob, name: string): boolean {
  const [, prefix, hash] = /^(.*)-e\d{1,9}-(?:([0-9a-f]{6})-)?\d{1,9}$/.exec(name) ?? [];
  return prefix === (hash === undefined ? jobPrefix(job) : podPrefix(job));
}

/** What is left of the job's name beside the hash. */
const MOST_JOB_CHARACTERS = 34;

function podPrefix({ name, uid }: NamedJob): string {
  return jobPrefix({ name: name.slice(0, MOST_JOB_CHARACTERS), uid });
}

/** Name of the gang that a pod of such a name is of. */
export function gangOfPod(name: string): string {
  return name.replace(/-\d+$/, '');
}

/** Which pod of which epoch a gang's pod of that name is; undefined where it is no gang's. A name is taken once and never changes, as labels do. */
export function podOfName(name: string): { readonly epoch: number; readonly podIndex: number } | undefined {
  const [, epoch, podIndex] = /-e(\d{1,9})-(?:[0-9a-f]{6}-)?(\d{1,9})$/.exec(name) ?? [];
  return epoch === undefined || podIndex === undefined
    ? undefined
    : { epoch: Number(epoch), podIndex: Number(podIndex) };
}

/**
 * Name of the Placement of `epoch` whose spec has that SHA-256: `<job, at most 40>-<8 of the UID>-e<epoch>-<10 of the hash>`. Takes `metadata`.
 * With the hash in it nobody can take the name in advance for another placement.
 */
export function placementName(job: NamedJob, placement: { readonly epoch: number; readonly sha256: string }): string {
  return `${jobPrefix(job)}-e${placement.epoch}-${placement.sha256.slice(0, 10)}`;
}
