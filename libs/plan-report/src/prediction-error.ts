import type { Prediction } from '@coxswain/planner';
import { formatCount, formatSeconds } from './figures.ts';

/** `80 %: 9.21 s to 11.4 s`: where the step will lie. Of answers that were kept before there were intervals, how far off such predictions were. */
export function errorRange({ interval, error }: Pick<Prediction, 'interval' | 'error'>): string {
  if (interval !== undefined) {
    return `${interval.coveragePct} %: ${formatSeconds(interval.lowS)} to ${formatSeconds(interval.highS)}`;
  }
  if (error.n === 0) return 'not compared with any measurement';
  return `± ${error.medianAbsPct.toFixed(1)} % median, ${error.p90AbsPct.toFixed(0)} % at p90`;
}

/** How far to trust it as a sentence, with what was measured. */
export function errorSentence({ interval, error }: Pick<Prediction, 'interval' | 'error'>): string {
  if (error.n === 0) return `Predictions of this kind were not compared with any measurement: ${error.basis}.`;
  const off =
    `Predicted step times of this kind were off by ${error.medianAbsPct.toFixed(1)} % at the median and ${error.p90AbsPct.toFixed(1)} % ` +
    `for nine in ten (${formatCount(error.n)} measurements that the constants were fitted without: ${error.basis}).`;
  return interval === undefined
    ? off
    : `With ${interval.coveragePct} % likelihood the step takes ${formatSeconds(interval.lowS)} to ${formatSeconds(interval.highS)}. ${off}`;
}
