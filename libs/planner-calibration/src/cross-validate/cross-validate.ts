/** How well does a model predict sources that its constants were not fitted on? */
import { trainingRows, type TrainingRow } from '../fit/learn.ts';
import { sourceOfId, type MeasuredRow } from '../rows/index.ts';
import { quantile } from '../score/error-statistics.ts';
import type { Predictor } from '../score/predictor.ts';
import { scoreRows, type PredictedRow, type ScoredRows } from '../score/score-rows.ts';
import { foldsByRow, foldsBySource } from './folds.ts';

export interface CrossValidation {
  readonly rows: readonly MeasuredRow[];
  readonly qualities: ReadonlySet<string>;
  readonly folds: number;
  /** What is left out together: whole sources, or rows of all of them. */
  readonly leaveOut: 'sources' | 'rows';
  /** Learns from rows; called once per fold with the rows of all others. */
  readonly learn: (training: readonly TrainingRow[], fold: number) => Predictor;
}

/** Every row predicted by what was learnt without it, and where sources are left out without any row of its source. */
export function crossValidate({ rows, qualities, folds, leaveOut, learn }: CrossValidation): ScoredRows {
  const kept = rows.filter((row) => qualities.has(row.quality));
  const ids = kept.map(({ id }) => id);
  const bySource = leaveOut === 'sources';
  const foldOf = bySource ? foldsBySource(ids, folds) : foldsByRow(ids, folds);
  const scored = Array.from({ length: folds }, (_, fold) => {
    const isLeftOut = (row: MeasuredRow): boolean => foldOf.get(bySource ? sourceOfId(row.id) : row.id) === fold;
    const predictor = learn(trainingRows(kept.filter((row) => !isLeftOut(row))), fold);
    return scoreRows(kept.filter(isLeftOut), predictor, qualities);
  });
  return {
    predicted: scored.flatMap(({ predicted }) => predicted),
    unpredicted: scored.flatMap(({ unpredicted }) => unpredicted),
  };
}

/** The same predictions after one scalar per source: each is divided by the median of predicted over measured times of its source. */
export function withScalarPerSource({ predicted, unpredicted }: ScoredRows): ScoredRows {
  const bySource = Map.groupBy(predicted, ({ row }) => sourceOfId(row.id));
  return { unpredicted, predicted: [...bySource.values()].flatMap(rescaled) };
}

function rescaled(rows: readonly PredictedRow[]): readonly PredictedRow[] {
  const logarithms = rows.flatMap(({ time }) => (time === undefined ? [] : [Math.log(time.predicted / time.measured)]));
  const scalar = Math.exp(quantile(logarithms, 0.5) ?? 0);
  return rows.map((row) =>
    row.time === undefined ? row : { ...row, time: { ...row.time, predicted: row.time.predicted / scalar } },
  );
}
