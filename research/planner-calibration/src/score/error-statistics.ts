/** Statistics of prediction errors. */

/** One prediction and what was measured, in the same unit. */
export interface Comparison {
  readonly predicted: number;
  readonly measured: number;
}

/** Errors are (predicted - measured) / measured, in percent; null where nothing was compared. */
export interface ErrorStatistics {
  readonly n: number;
  readonly medianAbsPct: number | null;
  readonly meanAbsPct: number | null;
  /** Mean with its sign: positive where predictions are too high. */
  readonly biasPct: number | null;
  readonly p90AbsPct: number | null;
  /** Share in [0, 1] of predictions that lie at most 10 % off. */
  readonly within10: number | null;
  readonly within20: number | null;
}

/** Error of a prediction in percent of the measurement: positive if the prediction is too high. */
export function errorPct({ predicted, measured }: Comparison): number {
  return (100 * (predicted - measured)) / measured;
}

/** Statistics of the errors of all comparisons, each with equal weight. */
export function errorStatistics(comparisons: readonly Comparison[]): ErrorStatistics {
  const errors = comparisons.map(errorPct);
  const sizes = errors.map(Math.abs);
  const shareWithin = (limit: number): number | null => mean(sizes.map((size) => (size <= limit ? 1 : 0)));
  return {
    n: errors.length,
    medianAbsPct: quantile(sizes, 0.5),
    meanAbsPct: mean(sizes),
    biasPct: mean(errors),
    p90AbsPct: quantile(sizes, 0.9),
    within10: shareWithin(10),
    within20: shareWithin(20),
  };
}

/** Arithmetic mean; null for an empty list. */
export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Linear between the two nearest ranks. */
export function quantile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  return below === undefined || above === undefined ? null : below + (above - below) * (place - Math.floor(place));
}
