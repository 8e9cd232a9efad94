/** A job that waits for GPUs. */
export interface WaitingJob {
  readonly namespace: string;
  /** RFC 3339. */
  readonly since: string;
}

/**
 * Who is looked at first when GPUs become free: within a namespace whoever has waited longest, and the namespaces in turn, so that one tenant's
 * thousand jobs do not stand before the one of another. The namespace that was served longest ago begins, where only one can be served too;
 * of those that were never served, that of whoever has waited longest. `servedAs` tells of a namespace the number of its last serving.
 */
export function fairOrder<Job extends WaitingJob>(
  jobs: readonly Job[],
  servedAs: (namespace: string) => number = () => 0,
): readonly Job[] {
  const byNamespace = new Map<string, Job[]>();
  for (const job of jobs.toSorted((left, right) => compareText(left.since, right.since))) {
    const others = byNamespace.get(job.namespace);
    if (others === undefined) byNamespace.set(job.namespace, [job]);
    else others.push(job);
  }
  // Sorting keeps the order of those that are alike.
  const queues = [...byNamespace]
    .toSorted(([left], [right]) => servedAs(left) - servedAs(right))
    .map(([, queue]) => queue);
  const rounds = Math.max(0, ...queues.map((queue) => queue.length));
  return Array.from({ length: rounds }, (_, round) => queues.flatMap((queue) => queue[round] ?? [])).flat();
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
