/** Statistics that a few outliers do not change. */

/** Median of finite numbers; NaN for an empty array. Reorders its argument. */
export function medianInPlace(values: Float32Array | Float64Array): number {
  if (values.length === 0) return NaN;
  values.sort();
  const middle = values.length >> 1;
  const upper = values[middle] ?? NaN;
  return values.length % 2 === 1 ? upper : ((values[middle - 1] ?? NaN) + upper) / 2;
}

/** Median of finite numbers; NaN if there are none. */
export function median(values: Iterable<number>): number {
  return medianInPlace(Float64Array.from(values));
}

/** Median, and how far values are from it. */
export interface Spread {
  readonly median: number;
  /** Median absolute deviation, at least `epsilon` times the median, so that equal peers make no rank an outlier. */
  readonly mad: number;
}

/** Median and spread of some values. */
export function spreadOf(values: readonly number[], epsilon: number): Spread {
  const middle = median(values);
  return { median: middle, mad: Math.max(median(values.map((value) => Math.abs(value - middle))), epsilon * middle) };
}

/** 0.6745 (x - median) / MAD: one for one standard deviation of a normal distribution. */
export function robustZ(value: number, spread: Spread): number {
  return (0.6745 * (value - spread.median)) / spread.mad;
}

/** Slope of y on x, and the share of y's variance that it explains. */
export function regression(
  x: readonly number[],
  y: readonly number[],
): { readonly slope: number; readonly explained: number } {
  const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [meanOf(x), meanOf(y)];
  let [xx, xy, yy] = [0, 0, 0];
  for (let index = 0; index < x.length; index += 1) {
    const dx = (x[index] ?? 0) - meanX;
    const dy = (y[index] ?? 0) - meanY;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  return xx === 0 || yy === 0 ? { slope: 0, explained: 0 } : { slope: xy / xx, explained: (xy * xy) / (xx * yy) };
}
