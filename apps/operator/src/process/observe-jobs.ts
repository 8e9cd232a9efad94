import type { TrainingJob } from '@coxswain/api-types';
import { finishedRestart, newSaveStops } from '@coxswain/goodput';
import type { CacheChange, KubeObject } from '@coxswain/kube';
import { newTroubles } from '@coxswain/lifecycle';
import { startErrorBetween } from '@coxswain/scheduling';
import type { OperatorMetrics } from './operator-metrics.ts';

interface Jobs {
  onChange(handler: (change: CacheChange<TrainingJob & KubeObject>) => void): unknown;
}

/** Where what happens to jobs is counted. */
type JobMetrics = Pick<
  OperatorMetrics,
  'observeStart' | 'countIncident' | 'countRestart' | 'observeRestart' | 'observeSaveStop'
>;

/**
 * Counts incidents and restarts of jobs, measures restarts and saves, and how far starts are from the starts that were expected first. Only the leader counts, so that each counts
 * once. One that is recorded while the leader changes may not count.
 */
export function observeJobs(
  jobs: Jobs,
  { metrics, isLeader }: { readonly metrics: JobMetrics; readonly isLeader: () => boolean },
): void {
  jobs.onChange(({ kind, previous, object }) => {
    if (kind !== 'updated' || !isLeader()) return;
    const error = startErrorBetween(previous, object);
    if (error !== undefined) metrics.observeStart(error);
    const { incidents, restarts } = newTroubles(previous, object);
    for (const incident of incidents) metrics.countIncident(incident);
    for (const cause of restarts) metrics.countRestart(cause);
    const [before, after] = [previous.status?.attempts ?? [], object.status?.attempts ?? []];
    const restart = finishedRestart(before, after);
    if (restart !== undefined) metrics.observeRestart(restart);
    for (const { seconds } of newSaveStops(before.at(-1), after.at(-1))) metrics.observeSaveStop(seconds);
  });
}
