/** Which Workload of a job counts, and when does the operator ask Kueue for the quota of a larger one? */
import type { QueuedJob } from './decide-quota.ts';
import { isFewerPods, sizeOfDigest, type WorkloadFacts } from './workload-facts.ts';

/** The Workloads of a job, which are two while it grows. */
export interface JobWorkloads {
  /** The one that holds the quota, or waits for it; undefined: there is none. */
  readonly current: WorkloadFacts | undefined;
  /** A larger one that waits to take its place. */
  readonly slice: WorkloadFacts | undefined;
  /** One whose place a larger one has taken. */
  readonly replaced: WorkloadFacts | undefined;
}

/** Which of the Workloads of a job is which. The one that was made later is to take the place of the other. */
export function pickWorkloads(found: readonly WorkloadFacts[]): JobWorkloads {
  const [older, newer] = found.toSorted((one, other) => one.createdMs - other.createdMs);
  if (older === undefined || newer === undefined) return { current: older, slice: undefined, replaced: undefined };
  if (isReplaced(older)) return { current: newer, slice: undefined, replaced: older };
  // Kueue gives the larger one quota first, and finishes the other one after that.
  if (isTrue(newer, 'QuotaReserved')) return { current: newer, slice: undefined, replaced: undefined };
  return { current: older, slice: newer, replaced: undefined };
}

/** What the operator writes for a growth. */
export type SliceWrite =
  /** Another Workload, for all of the GPUs. */
  | { readonly kind: 'createSlice' }
  /** The finalizer, on one that has taken the place of another. */
  | { readonly kind: 'hold' }
  /** It is deleted: the job does not grow, the quota was not there at once, or its place was taken. */
  | { readonly kind: 'remove'; readonly workload: WorkloadFacts };

/** What counts for a growth. */
export interface GrowthFacts extends JobWorkloads {
  readonly job: QueuedJob;
  /** GPUs of the quota that no job holds, as read from the ClusterQueues; undefined: not known. */
  readonly freeGpus: number | undefined;
  readonly nowMs: number;
}

/** A slice that has waited for longer is withdrawn: Kueue could preempt others for it later. */
export const SLICE_WAIT_MS = 30_000;

/**
 * What to write for a growth, if anything. A larger Workload is made only if the quota is free, because Kueue would preempt others for it. It has the same
 * kinds of pods, because Kueue counts the difference by the names of podSets.
 */
export function decideSlice({ job, current, slice, replaced, freeGpus, nowMs }: GrowthFacts): SliceWrite | undefined {
  if (current?.replaces !== undefined && !current.hasFinalizer && !current.isDeleting) return { kind: 'hold' };
  if (replaced !== undefined) return { kind: 'remove', workload: replaced };
  if (slice !== undefined) {
    const isWanted = job.isSettled && sizeOfDigest(job.growth) === sizeOfDigest(slice.digest);
    const isOver = slice.isDeleting || !slice.isActive || nowMs - slice.createdMs >= SLICE_WAIT_MS;
    return isWanted && !isOver && job.wantsGang ? undefined : { kind: 'remove', workload: slice };
  }
  if (current === undefined || !job.wantsGang || !canGrow(job, current)) return undefined;
  const missing = gpusOfSize(sizeOfDigest(job.growth)) - current.gpus;
  return freeGpus !== undefined && freeGpus >= missing ? { kind: 'createSlice' } : undefined;
}

/** Whether a larger Workload is wanted and could take the place of the present one. */
export function canGrow(job: QueuedJob, current: WorkloadFacts): boolean {
  if (!job.isSettled || job.queueName !== current.queueName) return false;
  const holds = isTrue(current, 'Admitted') && !isTrue(current, 'Evicted') && !current.isDeleting && current.isActive;
  return holds && isFewerPods(sizeOfDigest(current.digest), sizeOfDigest(job.growth));
}

function gpusOfSize(size: string | undefined): number {
  const sets = (size ?? '').split(',').map((set) => set.split('x').map(Number));
  return sets.reduce((sum, [count = 0, gpus = 0]) => sum + count * gpus, 0);
}

function isReplaced({ conditions }: WorkloadFacts): boolean {
  const finished = conditions.get('Finished');
  return finished?.isTrue === true && finished.reason === 'WorkloadSliceReplaced';
}

function isTrue(workload: WorkloadFacts, type: string): boolean {
  return workload.conditions.get(type)?.isTrue === true;
}
