import type { Prediction } from '@coxswain/planner';
import { formatCount, formatGib, formatSeconds } from './figures.ts';

/** `80 % interval: 9.21 s to 11.4 s`; for stored answers without an interval, the error of such predictions. */
export function errorRange({ interval, error }: Pick<Prediction, 'interval' | 'error'>): string {
  if (interval !== undefined) {
    return `${interval.coveragePct} % interval: ${formatSeconds(interval.lowS)} to ${formatSeconds(interval.highS)}`;
  }
  if (error.n === 0) return 'not compared with any measurement';
  return `± ${error.medianAbsPct.toFixed(1)} % median, ${error.p90AbsPct.toFixed(0)} % at p90`;
}

/** `80 % interval: 57.7 GiB to 66.4 GiB`; undefined for stored answers without it. */
export function peakRange({ peakInterval: interval }: Pick<Prediction, 'peakInterval'>): string | undefined {
  if (interval === undefined) return undefined;
  return `${interval.coveragePct} % interval: ${formatGib(interval.lowGib)} to ${formatGib(interval.highGib)}`;
}

/** The interval and the error of a prediction as sentences. */
export function errorSentence({ interval, error }: Pick<Prediction, 'interval' | 'error'>): string {
  if (error.n === 0) return `Predictions of this kind were not compared with any measurement: ${error.basis}.`;
  const off =
    `Error of such predictions: ${error.medianAbsPct.toFixed(1)} % median, ${error.p90AbsPct.toFixed(1)} % at the 90th percentile ` +
    `(${formatCount(error.n)} measurements that were left out of the fit: ${error.basis}).`;
  return interval === undefined
    ? off
    : `${interval.coveragePct} % interval of the step time: ${formatSeconds(interval.lowS)} to ${formatSeconds(interval.highS)}. ${off}`;
}
