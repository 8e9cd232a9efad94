/** What slow ranks cost a run, if a detector gave the figure. */
import type { Incident } from '@coxswain/api-types';

/** Incidents that lasted for a while and made steps longer. */
export type StepCost = Pick<Incident, 'epoch' | 'incarnation' | 'noticedAt' | 'closedAt' | 'costMsPerStep'>;

interface SteppedRun {
  readonly epoch: number;
  readonly incarnation: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Mean time of a step. */
  readonly stepMs: number;
}

/**
 * Milliseconds that slow ranks cost the run; at most all of its steps. If several incidents overlap the most expensive counts,
 * because a step is as long as its slowest rank. An open incident lasts until the last step. Time before an incident was noticed
 * is not counted, because its start is unknown.
 */
export function slowMsOf(costs: readonly StepCost[], run: SteppedRun): number | undefined {
  const { firstMs, lastMs, stepMs } = run;
  const lasting = costs
    .filter((one) => one.epoch === run.epoch && one.incarnation === run.incarnation && (one.costMsPerStep ?? 0) > 0)
    .map(({ noticedAt, closedAt, costMsPerStep = 0 }) => ({
      fromMs: within(Date.parse(noticedAt), firstMs, lastMs),
      toMs: within(Date.parse(closedAt ?? ''), firstMs, lastMs),
      share: Math.min(1, costMsPerStep / stepMs),
    }));
  if (lasting.length === 0 || !(stepMs > 0) || !(lastMs > firstMs)) return undefined;
  const borders = [...new Set(lasting.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].toSorted((a, b) => a - b);
  return borders.slice(1).reduce((sum, toMs, index) => {
    const fromMs = borders[index] ?? toMs;
    const shares = lasting.map((one) => (one.fromMs <= fromMs && one.toMs >= toMs ? one.share : 0));
    return sum + Math.max(...shares) * (toMs - fromMs);
  }, 0);
}

/** A time that cannot be read is the end. */
function within(ms: number, fromMs: number, toMs: number): number {
  return Number.isNaN(ms) ? toMs : Math.min(Math.max(ms, fromMs), toMs);
}
