/** Whose turn is it? A pure function of jobs, so that the operator, a new leader and the API find the same order. */
import { effectiveLayout, gpuCount, type TrainingJob } from '@coxswain/api-types';
import { fairOrder } from './fair-order.ts';
import { priorityOf } from './priority.ts';
import { waitingSince } from './waiting-jobs.ts';

/** Number of each namespace's last serving: later servings have higher numbers, and a namespace that was never served has none. */
export type Servings = ReadonlyMap<string, number>;

/**
 * Waiting jobs in the order of their turn: priority, then jobs for which nodes are held, then namespaces in turn, then those of one node, then age.
 * `promisedAt`: RFC 3339, since when nodes are held for the job, which the scheduler knows before status records it.
 */
export function inOrder(
  waiting: readonly TrainingJob[],
  servings: Servings,
  promisedAt: (job: TrainingJob) => string | undefined = ({ status }) => status?.expectedStart?.promisedAt,
): readonly TrainingJob[] {
  const queued = waiting.map((job) => ({
    job,
    namespace: namespaceOf(job),
    since: waitingSince(job),
    priority: priorityOf(job),
    promisedAt: promisedAt(job),
    isOneNode: isOneNode(job),
  }));
  return fairOrder(queued, (namespace) => servings.get(namespace) ?? 0).map(({ job }) => job);
}

/**
 * When each namespace was served last, from the newest start of an attempt in it. `begun` names the namespaces whose newest serving no status
 * records yet, oldest first.
 */
export function servingsOf(jobs: Iterable<TrainingJob>, begun: readonly string[] = []): Servings {
  const newest = new Map<string, string>();
  for (const job of jobs) {
    const startedAt = job.status?.attempts?.at(-1)?.startedAt;
    const namespace = namespaceOf(job);
    if (startedAt !== undefined && startedAt > (newest.get(namespace) ?? '')) newest.set(namespace, startedAt);
  }
  const recorded = [...newest].sort(([, left], [, right]) => (left < right ? -1 : Number(left > right)));
  const inSequence = [...recorded.map(([namespace]) => namespace), ...begun];
  return new Map(inSequence.map((namespace, at) => [namespace, at + 1]));
}

/** Whether the job fits on one node. */
function isOneNode({ spec, status }: TrainingJob): boolean {
  return gpuCount(effectiveLayout(spec, status?.plan), spec.gpus) <= (spec.resources?.gpusPerNode ?? 1);
}

/** Namespace of a job. */
export function namespaceOf({ metadata }: Pick<TrainingJob, 'metadata'>): string {
  return metadata.namespace ?? '';
}
