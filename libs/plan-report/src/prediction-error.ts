import type { Prediction } from '@coxswain/planner';
import { formatCount } from './figures.ts';

/** `± 4.2 % median, 14 % at p90`: how far off predictions of this kind were. */
export function errorRange({ error }: Pick<Prediction, 'error'>): string {
  if (error.n === 0) return 'not compared with any measurement';
  return `± ${error.medianAbsPct.toFixed(1)} % median, ${error.p90AbsPct.toFixed(0)} % at p90`;
}

/** The same as a sentence, with what was measured. */
export function errorSentence({ error }: Pick<Prediction, 'error'>): string {
  if (error.n === 0) return `Predictions of this kind were not compared with any measurement: ${error.basis}.`;
  return (
    `Predicted step times of this kind were off by ${error.medianAbsPct.toFixed(1)} % at the median and ${error.p90AbsPct.toFixed(1)} % ` +
    `for nine in ten (${formatCount(error.n)} measurements: ${error.basis}).`
  );
}
