/** Estimates the gain of calibrating predictions with three layouts measured on the same machines. */
import { sourceOfId } from '../rows/index.ts';
import { quantile } from '../score/error-statistics.ts';
import type { PredictedRow, ScoredRows } from '../score/score-rows.ts';

const MEASURED_FIRST = 3;

/**
 * The same predictions, each divided by the median of predicted over measured time of three other rows of its source. No row helps to
 * scale itself. The ids decide which three are used, not the layouts. Sources with fewer than four rows are left out.
 */
export function withScalarPerSource({ predicted }: ScoredRows): ScoredRows {
  const timed = predicted.filter(({ time }) => time !== undefined);
  const bySource = Map.groupBy(timed, ({ row }) => sourceOfId(row.id));
  return { unpredicted: [], predicted: [...bySource.values()].flatMap(rescaled) };
}

function rescaled(rows: readonly PredictedRow[]): readonly PredictedRow[] {
  if (rows.length <= MEASURED_FIRST) return [];
  const dealt = [...rows].sort((a, b) => shuffled(a.row.id) - shuffled(b.row.id) || (a.row.id < b.row.id ? -1 : 1));
  return dealt.map((row, at) => {
    const others = Array.from({ length: MEASURED_FIRST }, (_, next) => dealt[(at + 1 + next) % dealt.length]);
    return divided(row, scalarOf(others.filter((other) => other !== undefined)));
  });
}

function scalarOf(rows: readonly PredictedRow[]): number {
  const logarithms = rows.flatMap(({ time }) => (time === undefined ? [] : [Math.log(time.predicted / time.measured)]));
  return Math.exp(quantile(logarithms, 0.5) ?? 0);
}

function divided(row: PredictedRow, scalar: number): PredictedRow {
  return row.time === undefined ? row : { ...row, time: { ...row.time, predicted: row.time.predicted / scalar } };
}

/** A hash (FNV-1a), so that consecutive ids have unrelated numbers. */
function shuffled(id: string): number {
  let hash = 0x811c9dc5;
  for (const letter of id) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}
