import { jobPrefix, type TrainingJob } from '@coxswain/api-types';

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
  const own = `${job.metadata.name}-${job.metadata.uid.slice(0, 8)}/epoch-${fence.epoch}${laterThanFirst(fence, '-')}`;
  const base = path.replace(/\/+$/, '');
  return base === '' ? own : `${base}/${own}`;
}

/** The incarnation as the spec of a Checkpoint records it: the first is left out. */
export function incarnationOf({ incarnation = 1 }: Pick<Fence, 'incarnation'>): { readonly incarnation?: number } {
  return incarnation === 1 ? {} : { incarnation };
}

function laterThanFirst({ incarnation = 1 }: Fence, mark: string): string {
  return incarnation === 1 ? '' : `${mark}${incarnation}`;
}
