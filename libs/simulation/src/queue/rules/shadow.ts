import type { QueueJob, StartedJob } from '../load/queue-job.ts';

/** What is free now, and what becomes free when. */
interface FreeInTime {
  /** Free GPUs by node; changed by the call. */
  readonly free: number[];
  readonly ends: readonly (StartedJob & { readonly endMs: number })[];
}

/** Nodes for a job that does not fit now, and from when. */
export interface ReservedNodes {
  readonly startMs: number;
  readonly nodes: ReadonlySet<number>;
}

/**
 * The earliest time at which the job fits if nothing else starts; undefined: it never does. Of the nodes that are free then, those that are busy
 * now are reserved first, so that nodes that are free now stay free for others.
 */
export function reservedAt(
  { pods, gpusPerPod }: Pick<QueueJob, 'pods' | 'gpusPerPod'>,
  { free, ends }: FreeInTime,
): ReservedNodes | undefined {
  const isFreeNow = free.map((gpus) => gpus >= gpusPerPod);
  let nodesFree = isFreeNow.filter(Boolean).length;
  for (const { job, nodes, endMs } of ends.toSorted((one, other) => one.endMs - other.endMs)) {
    for (const node of nodes) {
      const before = free[node] ?? 0;
      free[node] = before + job.gpusPerPod;
      if (before < gpusPerPod && before + job.gpusPerPod >= gpusPerPod) nodesFree += 1;
    }
    if (nodesFree < pods) continue;
    const open = [...free.keys()].filter((node) => (free[node] ?? 0) >= gpusPerPod);
    const busyFirst = open.toSorted((one, other) => Number(isFreeNow[one]) - Number(isFreeNow[other]));
    return Number.isFinite(endMs) ? { startMs: endMs, nodes: new Set(busyFirst.slice(0, pods)) } : undefined;
  }
  return undefined;
}
