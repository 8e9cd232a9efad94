/** Errors of each row with constants that were fitted without it. They are stored in files, so that intervals can be computed without a fit. */
import { familyOfStack, type ModelKind } from '@coxswain/planner/calibration';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import type { PredictedRow, ScoredRows } from '../score/score-rows.ts';
import { keyOfRow, type LeftOut } from './folds.ts';

const COLUMNS = ['id', 'left_out', 'chip', 'engine_family', 'kind', 'measured_over_predicted'] as const;

/** A row that was left out of a fit. */
export interface LeftOutRow {
  readonly id: string;
  /** The group that was left out with it. */
  readonly key: string;
  readonly chip: string;
  readonly engineFamily: string;
  readonly kind: ModelKind;
  readonly measuredOverPredicted: number;
}

/** Rows without a measured time have none. */
export function leftOutRows({ predicted }: ScoredRows, leftOut: LeftOut): readonly LeftOutRow[] {
  return predicted.flatMap((row) => leftOutRow(row, leftOut) ?? []);
}

/** The same for peaks of memory, by groups. */
export function memoryRows({ predicted }: ScoredRows): readonly LeftOutRow[] {
  return predicted.flatMap((row) => leftOutRow({ ...row, time: row.memory }, 'groups') ?? []);
}

function leftOutRow({ row, run, isMoe, time }: PredictedRow, leftOut: LeftOut): LeftOutRow | undefined {
  const key = keyOfRow(row, leftOut);
  if (time === undefined || key === undefined) return undefined;
  return {
    id: row.id,
    key,
    chip: run.cluster.gpu.silicon,
    engineFamily: familyOfStack(run.stack),
    kind: isMoe ? 'experts' : 'dense',
    measuredOverPredicted: Number((time.measured / time.predicted).toPrecision(4)),
  };
}

/** In the order of ids. No cell needs quotes: names of families, chips and models hold neither commas nor quotes. */
export function leftOutCsv(rows: readonly LeftOutRow[]): string {
  const lines = [...rows]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((row) => [row.id, row.key, row.chip, row.engineFamily, row.kind, row.measuredOverPredicted].join(','));
  return `${[COLUMNS.join(','), ...lines].join('\n')}\n`;
}

const Records = z.array(
  z.strictObject({
    id: z.string().min(1),
    left_out: z.string().min(1),
    chip: z.string().min(1),
    engine_family: z.string().min(1),
    kind: z.enum(['dense', 'experts']),
    measured_over_predicted: z.coerce.number().positive(),
  } satisfies Record<(typeof COLUMNS)[number], z.ZodType>),
);

/** @throws ZodError that names line and column of what is no such row */
export function readLeftOutRows(csvText: string): readonly LeftOutRow[] {
  return Records.parse(parse(csvText, { columns: true })).map((record) => ({
    id: record.id,
    key: record.left_out,
    chip: record.chip,
    engineFamily: record.engine_family,
    kind: record.kind,
    measuredOverPredicted: record.measured_over_predicted,
  }));
}
