/** Cross-validation: errors of predictions on rows that were left out of the fit. */
import { trainingRows, type TrainingRow } from '../fit/learn.ts';
import type { MeasuredRow } from '../rows/index.ts';
import type { Predictor } from '../score/predictor.ts';
import { scoreRows, type ScoredRows } from '../score/score-rows.ts';
import { foldsOf, type LeftOut } from './folds.ts';

/** Input of {@link crossValidate}: rows of the listed qualities, divided into folds by what is left out together. */
export interface CrossValidation {
  readonly rows: readonly MeasuredRow[];
  readonly qualities: ReadonlySet<string>;
  readonly folds: number;
  readonly leaveOut: LeftOut;
  /** Learns from rows; called once per fold with the rows of all others. */
  readonly learn: (training: readonly TrainingRow[], fold: number) => Predictor;
}

/** Predicts every row with constants that were fitted without its group. */
export function crossValidate({ rows, qualities, folds, leaveOut, learn }: CrossValidation): ScoredRows {
  const kept = rows.filter((row) => qualities.has(row.quality));
  const foldOf = foldsOf(kept, folds, leaveOut);
  const scored = Array.from({ length: folds }, (_, fold) => {
    const isLeftOut = (row: MeasuredRow): boolean => foldOf.get(row.id) === fold;
    const predictor = learn(trainingRows(kept.filter((row) => !isLeftOut(row))), fold);
    return scoreRows(kept.filter(isLeftOut), predictor, qualities);
  });
  return {
    predicted: scored.flatMap(({ predicted }) => predicted),
    unpredicted: scored.flatMap(({ unpredicted }) => unpredicted),
  };
}
