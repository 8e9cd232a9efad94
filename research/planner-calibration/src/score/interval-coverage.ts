/** How many rows lie in the interval that an answer prints for them? */
import {
  ERRORS,
  errorsLike,
  familyOfStack,
  memoryErrorsLike,
  type CalibrationErrors,
} from '@coxswain/planner/calibration';
import type { Comparison } from './error-statistics.ts';
import type { PredictedRow } from './score-rows.ts';

/** Rows with a measurement, and those of them that lie in their interval. */
export interface Coverage {
  readonly n: number;
  readonly inside: number;
}

/** Coverage of step times and of peaks of memory, by engine family in the order of names. */
export function coverageByFamily(
  rows: readonly PredictedRow[],
  errors: CalibrationErrors = ERRORS,
): ReadonlyMap<string, { readonly time: Coverage; readonly memory: Coverage }> {
  const families = Map.groupBy(rows, ({ run }) => familyOfStack(run.stack));
  return new Map(
    [...families]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([family, members]) => [
        family,
        {
          time: coverageOf(
            members,
            ({ time }) => time,
            (like) => errorsLike(errors, like),
          ),
          memory: coverageOf(
            members,
            ({ memory }) => memory,
            (like) => memoryErrorsLike(errors, like),
          ),
        },
      ]),
  );
}

type Likeness = Parameters<typeof errorsLike>[1];

function coverageOf(
  rows: readonly PredictedRow[],
  compared: (row: PredictedRow) => Comparison | undefined,
  cellOf: (like: Likeness) => { readonly low: number; readonly high: number },
): Coverage {
  const inside = rows.flatMap((row) => {
    const comparison = compared(row);
    if (comparison === undefined) return [];
    const { run, isMoe } = row;
    const { low, high } = cellOf({ chip: run.cluster.gpu.silicon, stack: run.stack, hasExperts: isMoe });
    const ratio = comparison.measured / comparison.predicted;
    return [low <= ratio && ratio <= high];
  });
  return { n: inside.length, inside: inside.filter((lies) => lies).length };
}
