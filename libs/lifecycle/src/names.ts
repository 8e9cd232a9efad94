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

/** Name of the Placement of `epoch`. Creating it is the lock on that epoch. Takes `metadata`. */
export function placementName(job: NamedJob, epoch: number): string {
  return `${jobPrefix(job)}-e${epoch}`;
}
