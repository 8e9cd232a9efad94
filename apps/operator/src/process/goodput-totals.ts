/** Where did the GPU time of all jobs in the cluster go, according to their status? */
import { findCondition, GOODPUT_CATEGORIES, type GoodputCategory, type TrainingJob } from '@coxswain/api-types';
import { jobGoodput, recordedHistory } from '@coxswain/goodput';

/** GPU-seconds of one namespace in one category. */
/** GPU time of one kind in one namespace. */
export interface GoodputTotal {
  readonly namespace: string;
  readonly category: GoodputCategory;
  readonly gpuSeconds: number;
}

/** Namespaces that have series of their own, those that hold most; the others are summed as {@link OTHER_NAMESPACES}. */
const MAX_NAMESPACES = 200;
/** No namespace can have this name. */
export const OTHER_NAMESPACES = '(others)';

/**
 * Sums the newest attempts in each status. Saves between steps count as steps, because the operator keeps no curves. A job that cannot be read is left out.
 */
export function goodputTotals(jobs: Iterable<TrainingJob>, now: Date): readonly GoodputTotal[] {
  const byNamespace = new Map<string, Map<GoodputCategory, number>>();
  for (const job of jobs) addTo(byNamespace, job.metadata.namespace ?? '', sharesOf(job, now));
  const largest = [...byNamespace].toSorted(([, left], [, right]) => sumOf(right) - sumOf(left));
  const shown = new Map(largest.slice(0, MAX_NAMESPACES));
  for (const [, shares] of largest.slice(MAX_NAMESPACES)) addTo(shown, OTHER_NAMESPACES, shares);
  return [...shown].flatMap(([namespace, shares]) =>
    (Object.keys(GOODPUT_CATEGORIES) as GoodputCategory[]).map((category) => ({
      namespace,
      category,
      gpuSeconds: shares.get(category) ?? 0,
    })),
  );
}

function sharesOf({ metadata, status }: TrainingJob, now: Date): ReadonlyMap<GoodputCategory, number> {
  try {
    const ended = ['Complete', 'Failed'].map((type) =>
      findCondition(status?.conditions, type as 'Complete' | 'Failed'),
    );
    const finishedAt = ended.find((condition) => condition?.status === 'True')?.lastTransitionTime;
    const history = recordedHistory({
      createdAt: metadata.creationTimestamp,
      finishedAt,
      attempts: status?.attempts ?? [],
      progress: status?.progress,
      stepMsByEpoch: new Map(),
      savedRuns: new Set(),
      stepCosts: status?.incidents ?? [],
      now,
    });
    return new Map(jobGoodput(history, 0).shares.map(({ category, gpuSeconds }) => [category, gpuSeconds]));
  } catch {
    // Its status was edited by hand into something that is no status.
    return new Map();
  }
}

function addTo(
  totals: Map<string, Map<GoodputCategory, number>>,
  namespace: string,
  shares: ReadonlyMap<GoodputCategory, number>,
): void {
  const sum = totals.get(namespace) ?? new Map<GoodputCategory, number>();
  for (const [category, gpuSeconds] of shares) sum.set(category, (sum.get(category) ?? 0) + gpuSeconds);
  totals.set(namespace, sum);
}

function sumOf(shares: ReadonlyMap<GoodputCategory, number>): number {
  return [...shares.values()].reduce((sum, gpuSeconds) => sum + gpuSeconds, 0);
}
