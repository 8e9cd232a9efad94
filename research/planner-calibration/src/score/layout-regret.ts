/** Regret: the cost of choosing the layout with the lowest predicted time, for jobs with several measured layouts. */
import { mean, quantile } from './error-statistics.ts';
import type { PredictedRow } from './score-rows.ts';

/** Regret over all jobs that were measured with several layouts; the figures in percent are null if there is no such job. */
export interface LayoutRegret {
  /** Groups of rows with the same model, GPUs, batch and software that hold at least two layouts. */
  readonly n: number;
  readonly layouts: number;
  /** How much slower the chosen layout is than the best measured one, in percent. */
  readonly medianPct: number | null;
  readonly meanPct: number | null;
  readonly p90Pct: number | null;
  readonly worstPct: number | null;
}

/**
 * Chooses the layout with the lowest predicted time for each job, and compares it with the best measured one. Rows without a measured time are
 * left out.
 */
export function layoutRegret(rows: readonly PredictedRow[]): LayoutRegret {
  const groups = layoutsOfJobs(rows);
  const regrets = groups.map(regretPct);
  return {
    n: groups.length,
    layouts: groups.reduce((sum, layouts) => sum + layouts.length, 0),
    medianPct: quantile(regrets, 0.5),
    meanPct: mean(regrets),
    p90Pct: quantile(regrets, 0.9),
    worstPct: quantile(regrets, 1),
  };
}

/** The layouts of each job that was measured with several. */
export function layoutsOfJobs(rows: readonly PredictedRow[]): readonly (readonly MeasuredLayout[])[] {
  return [...grouped(rows, jobOf).values()].map(layoutsOf).filter((layouts) => layouts.length > 1);
}

/** Seconds per step of one layout: predicted and measured. */
export interface MeasuredLayout {
  readonly predictedS: number;
  readonly measuredS: number;
}

/** One entry per layout; a layout measured several times counts with its mean. */
function layoutsOf(rows: readonly PredictedRow[]): readonly MeasuredLayout[] {
  return [...grouped(rows, layoutOf).values()].map((same) => ({
    predictedS: mean(same.map(({ time }) => time?.predicted ?? 0)) ?? 0,
    measuredS: mean(same.map(({ time }) => time?.measured ?? 0)) ?? 0,
  }));
}

function regretPct(layouts: readonly MeasuredLayout[]): number {
  const chosen = layouts.reduce((best, layout) => (layout.predictedS < best.predictedS ? layout : best));
  const best = Math.min(...layouts.map(({ measuredS }) => measuredS));
  return 100 * (chosen.measuredS / best - 1);
}

function jobOf({ run }: PredictedRow): string {
  const { model, cluster, globalBatchSize, sequenceLength, precision, stack, loraRank } = run;
  return JSON.stringify([model, cluster, globalBatchSize, sequenceLength, precision, stack, loraRank]);
}

function layoutOf({ run }: PredictedRow): string {
  return JSON.stringify(run.candidate);
}

function grouped(
  rows: readonly PredictedRow[],
  keyOf: (row: PredictedRow) => string,
): ReadonlyMap<string, readonly PredictedRow[]> {
  return Map.groupBy(
    rows.filter((row) => row.time !== undefined),
    keyOf,
  );
}
