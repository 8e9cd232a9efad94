import type { TrainingJob } from '@coxswain/api-types';
import type { CacheChange, KubeObject } from '@coxswain/kube';
import { startErrorBetween } from '@coxswain/scheduling';
import type { OperatorMetrics } from './operator-metrics.ts';

interface Jobs {
  onChange(handler: (change: CacheChange<TrainingJob & KubeObject>) => void): unknown;
}

/**
 * Counts how far starts of jobs are from the starts that were expected first. Only the leader counts, so that a start counts once. One that is recorded
 * while the leader changes may not count.
 */
export function observeStarts(
  jobs: Jobs,
  { metrics, isLeader }: { readonly metrics: Pick<OperatorMetrics, 'observeStart'>; readonly isLeader: () => boolean },
): void {
  jobs.onChange(({ kind, previous, object }) => {
    const error = kind === 'updated' && isLeader() ? startErrorBetween(previous, object) : undefined;
    if (error !== undefined) metrics.observeStart(error);
  });
}
