import { jobPrefix, type TrainingJob } from '@coxswain/api-types';

/** Name of the Checkpoint object of a step saved in an epoch: deterministic, so that reporting it twice creates it once. Takes `metadata`. */
export function checkpointName(
  job: { readonly name: string; readonly uid: string },
  saved: { readonly epoch: number; readonly step: number },
): string {
  return `${jobPrefix(job)}-e${saved.epoch}-s${saved.step}`;
}

/**
 * Directory inside the checkpoint claim that belongs to one epoch alone: `<spec.checkpoint.path>/<job name>-<8 of the UID>/epoch-<n>`.
 * An earlier epoch that still writes cannot touch it. undefined when the job keeps no checkpoints.
 */
export function saveDirectoryOf(job: Pick<TrainingJob, 'metadata' | 'spec'>, epoch: number): string | undefined {
  const path = job.spec.checkpoint?.path;
  if (path === undefined) return undefined;
  const own = `${job.metadata.name}-${job.metadata.uid.slice(0, 8)}/epoch-${epoch}`;
  const base = path.replace(/\/+$/, '');
  return base === '' ? own : `${base}/${own}`;
}
