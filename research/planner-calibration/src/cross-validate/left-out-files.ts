/** Where are the errors of rows that were left out kept? */
import { fileURLToPath } from 'node:url';
import type { LeftOut } from './folds.ts';

/** Answers stand on these: an engine that was fitted, and one that was not. */
export const RECORDED_LEFT_OUT = ['groups', 'sources'] as const satisfies readonly LeftOut[];
export type RecordedLeftOut = (typeof RECORDED_LEFT_OUT)[number];

export function leftOutFile(leftOut: RecordedLeftOut): string {
  return fileURLToPath(new URL(`../../data/left_out_${leftOut}.csv`, import.meta.url));
}
