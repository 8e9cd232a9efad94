/**
 * Error of the predicted *difference* between two layouts of one job. What predictions of a job have in common, its model, machines
 * and software, cancels: this error, not that of a single prediction, decides whether two layouts are tied.
 */
import { sourceOfId } from '../rows/index.ts';
import { quantile } from './error-statistics.ts';
import { layoutsOfJobs, type MeasuredLayout } from './layout-regret.ts';
import type { PredictedRow } from './score-rows.ts';

/** Error of predicted ratios between layouts of one job, and how much data it comes from. */
export interface PairedError {
  /** Jobs that were measured with several layouts, and pairs of their layouts that were compared. */
  readonly jobs: number;
  readonly pairs: number;
  /** Error of the ratio of two times, in percent: the median of a job's pairs, of a source's jobs, of all sources. */
  readonly medianPct: number | null;
}

/** Layouts that are predicted to differ by more are no tie, however far off. Natural logarithm. */
const CLOSE = 0.1;

/** Sources count alike, so that one table of many small jobs does not decide what a tie is. */
export function pairedError(rows: readonly PredictedRow[]): PairedError {
  const sources = [...Map.groupBy(rows, ({ row }) => sourceOfId(row.id)).values()]
    .map((ofSource) => layoutsOfJobs(ofSource).map(errorsOfPairs).filter(isCompared))
    .filter(isCompared);
  const middle = medianOf(sources.map((jobs) => medianOf(jobs.map(medianOf)) ?? 0));
  const jobs = sources.flat();
  return { jobs: jobs.length, pairs: jobs.flat().length, medianPct: middle && 100 * (Math.exp(middle) - 1) };
}

/** Sizes of the errors of the logarithm of the ratio, for each pair of layouts that are predicted to be about as fast. */
function errorsOfPairs(layouts: readonly MeasuredLayout[]): readonly number[] {
  return layouts.flatMap((one, at) =>
    layouts.slice(at + 1).flatMap((other) => {
      const predicted = Math.log(one.predictedS / other.predictedS);
      return Math.abs(predicted) > CLOSE ? [] : [Math.abs(predicted - Math.log(one.measuredS / other.measuredS))];
    }),
  );
}

function isCompared(list: readonly unknown[]): boolean {
  return list.length > 0;
}

function medianOf(values: readonly (number | null)[]): number | null {
  return quantile(
    values.filter((value) => value !== null),
    0.5,
  );
}
