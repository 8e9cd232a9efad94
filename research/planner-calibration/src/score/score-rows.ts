/** Predicts every row of a score. A row that cannot be predicted has a reason; it never throws. */
import type { MemoryVerdict, RunFacts } from '@coxswain/planner';
import { interpretRow, type MeasuredRow } from '../rows/index.ts';
import type { Comparison } from './error-statistics.ts';
import { memoryPeakOf, predictedGib } from './memory-kind.ts';
import type { Predictor } from './predictor.ts';

/** A row with its predictions. `filled` lists the rules that filled values which the row does not state. */
export interface PredictedRow {
  readonly row: MeasuredRow;
  readonly run: RunFacts;
  readonly filled: readonly string[];
  readonly isMoe: boolean;
  /** Seconds per step; undefined where none was measured. */
  readonly time: Comparison | undefined;
  /** GiB; undefined where none was measured. */
  readonly memory: Comparison | undefined;
  readonly verdict: MemoryVerdict;
}

/** A row without a prediction, and the reason as text. */
export interface UnpredictedRow {
  readonly row: MeasuredRow;
  readonly reason: string;
}

/** The scored rows: with a prediction, and without one. */
export interface ScoredRows {
  readonly predicted: readonly PredictedRow[];
  readonly unpredicted: readonly UnpredictedRow[];
}

/** Rows of the given qualities that hold an answer: seconds, memory or an out-of-memory label. */
export function scoreRows(
  rows: readonly MeasuredRow[],
  predictor: Predictor,
  qualities: ReadonlySet<string>,
): ScoredRows {
  const predicted: PredictedRow[] = [];
  const unpredicted: UnpredictedRow[] = [];
  for (const row of rows) {
    if (!qualities.has(row.quality) || !hasAnswer(row)) continue;
    const result = scored(row, predictor);
    if ('reason' in result) unpredicted.push(result);
    else predicted.push(result);
  }
  return { predicted, unpredicted };
}

/** Whether a row holds something to compare with. A row with a fault counts, so that the score lists it as unpredicted. */
export function hasAnswer(row: MeasuredRow): boolean {
  return row.iterTimeS !== undefined || row.memGib !== undefined || row.outOfMemory || row.fault !== undefined;
}

function scored(row: MeasuredRow, predictor: Predictor): PredictedRow | UnpredictedRow {
  const read = interpretRow(row);
  if ('unpredicted' in read) return { row, reason: read.unpredicted };
  const { run, filled } = read;
  try {
    const memory = predictor.memory(run);
    const time = row.iterTimeS === undefined ? undefined : compared(predictor.stepTimeS(run), row.iterTimeS, 'time');
    const gib = predictedGib(memory, memoryPeakOf(row.memKind));
    return {
      row,
      run,
      filled,
      isMoe: run.model.experts !== undefined,
      time,
      memory: row.memGib === undefined ? undefined : compared(gib, row.memGib, 'memory'),
      verdict: memory.verdict,
    };
  } catch (error) {
    return { row, reason: `model: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function compared(predicted: number, measured: number, what: string): Comparison {
  if (Number.isFinite(predicted) && predicted > 0) return { predicted, measured };
  throw new Error(`the predicted ${what} is not a positive number`);
}
