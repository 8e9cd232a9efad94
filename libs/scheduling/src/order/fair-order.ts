/** What the order of waiting jobs depends on. */
export interface QueuedJob {
  readonly namespace: string;
  /** RFC 3339. */
  readonly since: string;
  /** Higher goes first. Absent: 0. */
  readonly priority?: number;
  /** RFC 3339: since when nodes are held for the job. Absent: none are. */
  readonly promisedAt?: string | undefined;
  /** Whether it fits on one node. Absent: it does not. */
  readonly isOneNode?: boolean;
}

/**
 * Orders waiting jobs. A higher priority comes first. Of one priority, jobs for which nodes are held come first: otherwise each start in their
 * namespace would put them behind those of other namespaces, and their nodes would be held for another job. Then namespaces take turns, so that a
 * thousand jobs of one tenant do not delay the only job of another. Within a namespace, jobs of one node come before larger ones, because they take
 * little of what is free, and nodes are held for larger ones (`inPromiseOrder`); of each kind, the job that has waited longest comes first. The
 * namespace that was served longest ago begins. Among namespaces that were never served, the one whose job has waited longest begins. `servedAs`
 * returns the number of a namespace's last serving; 0 if it was never served.
 */
export function fairOrder<Job extends QueuedJob>(
  jobs: readonly Job[],
  servedAs: (namespace: string) => number = () => 0,
): readonly Job[] {
  const byPriority = Map.groupBy(jobs, ({ priority = 0 }) => priority);
  return [...byPriority]
    .toSorted(([left], [right]) => right - left)
    .flatMap(([, equal]) => {
      const promised = equal.filter(({ promisedAt }) => promisedAt !== undefined);
      const others = promised.length === 0 ? equal : equal.filter(({ promisedAt }) => promisedAt === undefined);
      return [...promised.toSorted(byPromise), ...inTurns(others, servedAs)];
    });
}

function inTurns<Job extends QueuedJob>(jobs: readonly Job[], servedAs: (namespace: string) => number): readonly Job[] {
  const byNamespace = Map.groupBy(
    jobs.toSorted((left, right) => compareText(left.since, right.since)),
    ({ namespace }) => namespace,
  );
  // Both sorts are stable: namespaces with the same number keep the order of their longest waits, and jobs of a kind that of their waits.
  const queues = [...byNamespace]
    .toSorted(([left], [right]) => servedAs(left) - servedAs(right))
    .map(([, queue]) => queue.toSorted((left, right) => nodesRank(left) - nodesRank(right)));
  const rounds = queues.reduce((most, queue) => Math.max(most, queue.length), 0);
  return Array.from({ length: rounds }, (_, round) => queues.flatMap((queue) => queue[round] ?? [])).flat();
}

function nodesRank({ isOneNode = false }: QueuedJob): number {
  return isOneNode ? 0 : 1;
}

function byPromise(left: QueuedJob, right: QueuedJob): number {
  return compareText(left.promisedAt ?? '', right.promisedAt ?? '') || compareText(left.since, right.since);
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
