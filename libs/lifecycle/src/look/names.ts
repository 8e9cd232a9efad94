import { jobPrefix } from '@coxswain/api-types';

/** The part of a job's metadata that names are made from. */
interface NamedJob {
  readonly name: string;
  readonly uid: string;
}

/** Name of the pod of `podIndex` in `epoch`: `<job, at most 40>-<8 of the UID>-e<epoch>-<index>`, at most 63 characters. Takes `metadata`. */
export function podName(job: NamedJob, gang: { readonly epoch: number; readonly podIndex: number }): string {
  return `${jobPrefix(job)}-e${gang.epoch}-${gang.podIndex}`;
}

/** Which pod of which epoch a gang's pod of that name is; undefined where it is no gang's. A name is taken once and never changes, as labels do. */
export function podOfName(name: string): { readonly epoch: number; readonly podIndex: number } | undefined {
  const [, epoch, podIndex] = /-e(\d{1,9})-(\d{1,9})$/.exec(name) ?? [];
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
