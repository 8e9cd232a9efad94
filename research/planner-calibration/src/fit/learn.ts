/** Fits constants to measured rows: settings of the fit, and weights of rows. */
import type { Calibration } from '@coxswain/planner/calibration';
import type { RunFacts } from '@coxswain/planner';
import { interpretRow, sourceOfId, type MeasuredRow } from '../rows/index.ts';
import { fit, type FitOptions, type FitRow } from './fit.ts';

/** A row with a measured time, as a fit reads it. */
export interface TrainingRow {
  readonly id: string;
  readonly run: RunFacts;
  readonly measuredS: number;
}

/** The rows that have a measured time and can be predicted. */
export function trainingRows(rows: readonly MeasuredRow[]): readonly TrainingRow[] {
  return rows.flatMap((row) => {
    const read = interpretRow(row);
    return row.iterTimeS === undefined || 'unpredicted' in read
      ? []
      : [{ id: row.id, run: read.run, measuredS: row.iterTimeS }];
  });
}

/** Prior, noise and freedom of the fit that produces the shipped constants. */
export const FIT_SETTINGS = {
  sd: { gpus: 0.15, siblings: 0.05, families: 0.15, stacks: 0.1 },
  releasesMove: ['experts', 'host', 'compute'],
  noise: 0.04,
  freedom: 3,
} as const satisfies Partial<FitOptions>;

/** Rows of a source beyond this many share their weight, so that a large table does not outvote all others. */
const FULL_WEIGHT_ROWS = 30;

/** Fits constants with {@link FIT_SETTINGS}. Each row weighs at most 1; rows of a large source weigh less. */
export function learn(
  training: readonly TrainingRow[],
  options: Pick<FitOptions, 'fittedOn' | 'iterations' | 'onIteration'>,
): Calibration {
  return fit(weighted(training), { ...FIT_SETTINGS, ...options });
}

function weighted(training: readonly TrainingRow[]): readonly FitRow[] {
  const sizes = new Map<string, number>();
  for (const { id } of training) sizes.set(sourceOfId(id), (sizes.get(sourceOfId(id)) ?? 0) + 1);
  return training.map(({ id, run, measuredS }) => ({
    run,
    measuredS,
    weight: Math.min(1, Math.sqrt(FULL_WEIGHT_ROWS / (sizes.get(sourceOfId(id)) ?? 1))),
  }));
}
