/** What the order of waiting jobs depends on. */
export interface QueuedJob {
  readonly namespace: string;
  /** RFC 3339. */
  readonly since: string;
}

/**
 * Orders waiting jobs. Within a namespace the job that has waited longest comes first, and namespaces take turns, so that a thousand jobs of
 * one tenant do not delay the only job of another. The namespace that was served longest ago begins. Among namespaces that were never served,
 * the one whose job has waited longest begins. `servedAs` returns the number of a namespace's last serving; 0 if it was never served.
 */
export function fairOrder<Job extends QueuedJob>(
  jobs: readonly Job[],
  servedAs: (namespace: string) => number = () => 0,
): readonly Job[] {
  const byNamespace = new Map<string, Job[]>();
  for (const job of jobs.toSorted((left, right) => compareText(left.since, right.since))) {
    const others = byNamespace.get(job.namespace);
    if (others === undefined) byNamespace.set(job.namespace, [job]);
    else others.push(job);
  }
  // The sort is stable: namespaces with the same number keep the order of their longest waits.
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
