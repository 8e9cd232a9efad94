/** Errors of predictions on published measurements that were left out of the fit. */
import { z } from 'zod';
import type { STANDS_ON } from '../contract.ts';
import { familyOfStack } from './calibration.ts';

/** Coverage of intervals in percent. */
export const COVERAGE_PCT = 80;

/** Least rows of a cell. With fewer, the 10th and 90th percentile are one or two rows each. */
export const MIN_CELL_ROWS = 20;

/** Kinds of models with separate errors, because errors of models with experts are larger. */
export const MODEL_KINDS = ['dense', 'experts'] as const;
/** One of {@link MODEL_KINDS}. */
export type ModelKind = (typeof MODEL_KINDS)[number];

/** Errors of similar rows. Each row was predicted with constants fitted without its group. */
export const ErrorCell = z.strictObject({
  kind: z.enum(MODEL_KINDS),
  engineFamily: z.string().optional().describe('Absent: rows of all engines.'),
  chip: z.string().optional().describe('`GpuFacts.silicon`; absent: rows of all chips.'),
  n: z.int().positive().describe('Rows.'),
  medianAbsPct: z.number().nonnegative().describe('Of the measured time.'),
  p90AbsPct: z.number().nonnegative(),
  low: z
    .number()
    .positive()
    .max(1)
    .describe('Measured over predicted time, which one row in ten is below; 1 where that were above 1.'),
  high: z.number().min(1).describe('The same, which one row in ten is above; 1 where that were below 1.'),
});
/** See the schema of the same name. */
export type ErrorCell = z.infer<typeof ErrorCell>;

/** Errors by kind of model, engine family and chip. */
export const CalibrationErrors = z.strictObject({
  families: z.array(z.string()).describe('Families of engines that the constants were fitted on.'),
  groupsLeftOut: z
    .array(ErrorCell)
    .describe('Rows of one source, model and GPU left out together: what to expect of an engine that was fitted.'),
  sourcesLeftOut: z
    .array(ErrorCell)
    .describe('All rows of a source left out together: what to expect of an engine that nobody fitted.'),
  pairedPct: z
    .number()
    .positive()
    .describe(
      'Error of the ratio of the predicted times of two layouts of one job, of the median pair, by cross-validation: what they have in common cancels. Layouts nearer than this are tied.',
    ),
});
/** See the schema of the same name. */
export type CalibrationErrors = z.infer<typeof CalibrationErrors>;

/** The properties of a run that select similar rows. */
export interface RunLikeRows {
  readonly chip: string;
  readonly stack: string;
  readonly hasExperts: boolean;
}

type StandsOn = (typeof STANDS_ON)[number];

/**
 * The errors of the rows most similar to a run: those of its chip, engine family and kind of model. If these are too few, those of its family and kind.
 * If these are too few as well, those of its kind. For a family that was not fitted, errors with whole sources left out.
 *
 * @throws Error if no rows of its kind are recorded
 */
export function errorsLike(
  { families, groupsLeftOut, sourcesLeftOut }: CalibrationErrors,
  { chip, stack, hasExperts }: RunLikeRows,
): ErrorCell & { readonly standsOn: StandsOn } {
  const family = familyOfStack(stack);
  const kind = hasExperts ? 'experts' : 'dense';
  const cellOf = (cells: readonly ErrorCell[], engineFamily?: string, itsChip?: string): ErrorCell | undefined =>
    cells.find((cell) => cell.kind === kind && cell.engineFamily === engineFamily && cell.chip === itsChip);
  const candidates: readonly (readonly [StandsOn, ErrorCell | undefined])[] = families.includes(family)
    ? [
        ['chip', cellOf(groupsLeftOut, family, chip)],
        ['engineFamily', cellOf(groupsLeftOut, family)],
        ['allEngines', cellOf(groupsLeftOut)],
      ]
    : [['otherSources', cellOf(sourcesLeftOut)]];
  for (const [standsOn, cell] of candidates) if (cell !== undefined) return { ...cell, standsOn };
  throw new Error(`errors.json holds no errors of ${kind} models: record them with npm run planner:cross-validate`);
}

/** A description of the rows for users. It contains no text of the request. */
export function basisOf({ kind, engineFamily, chip, standsOn }: ReturnType<typeof errorsLike>): string {
  const models = kind === 'dense' ? 'dense models' : 'models with experts';
  switch (standsOn) {
    case 'chip':
      return `step times of ${models} with ${engineFamily ?? ''} on ${(chip ?? '').toUpperCase()} chips`;
    case 'engineFamily':
      return `step times of ${models} with ${engineFamily ?? ''} on all chips, because this chip has fewer than ${MIN_CELL_ROWS} measurements`;
    case 'allEngines':
      return `step times of ${models} with any engine, because this engine has fewer than ${MIN_CELL_ROWS} measurements`;
    case 'otherSources':
      return `step times of ${models} with whole sources left out, because this engine has no measurements`;
  }
}
