/** Files with the errors of rows that were left out of a fit. */
import { fileURLToPath } from 'node:url';
import type { LeftOut } from './folds.ts';

/** Recorded groupings: `groups` for engines that were fitted, `sources` for others. Intervals of answers are computed from them. */
export const RECORDED_LEFT_OUT = ['groups', 'sources'] as const satisfies readonly LeftOut[];
/** One of {@link RECORDED_LEFT_OUT}. */
export type RecordedLeftOut = (typeof RECORDED_LEFT_OUT)[number];

/** Absolute path of the CSV file in `data/` that holds the errors of one grouping. The function does not check that the file exists. */
export function leftOutFile(leftOut: RecordedLeftOut): string {
  return fileURLToPath(new URL(`../../data/left_out_${leftOut}.csv`, import.meta.url));
}

/** Files with the errors of rows that no constant was fitted on: step times that are kept apart, and all peaks of memory. */
export const RECORDED_APART = ['kept_apart', 'memory'] as const;
/** One of {@link RECORDED_APART}. */
export type RecordedApart = (typeof RECORDED_APART)[number];

/** Absolute path of the CSV file in `data/` that holds these errors. */
export function apartFile(recorded: RecordedApart): string {
  return fileURLToPath(new URL(`../../data/errors_${recorded}.csv`, import.meta.url));
}
