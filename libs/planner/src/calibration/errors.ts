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
  pytorchEngines: z
    .array(ErrorCell)
    .describe(
      'For engines that run on PyTorch alone and have few rows: rows with whole sources left out, and rows that no constant was fitted on. Without an engine family: all of these engines. The range of a family contains that of all of them.',
    ),
  memory: z
    .array(ErrorCell)
    .describe('The same of measured over predicted peaks of memory. No constant of memory was fitted on a row.'),
  pairedPct: z
    .number()
    .positive()
    .describe(
      'Error of the ratio of the predicted times of two layouts of one job, of the median pair, by cross-validation: what they have in common cancels. Layouts nearer than this are tied.',
    ),
});
/** See the schema of the same name. */
export type CalibrationErrors = z.infer<typeof CalibrationErrors>;

/** Families of engines that run on PyTorch alone. Few of their runs are published, so what one of them was off stands for the others too. */
const PYTORCH_ENGINES =
  /^(composer-fsdp|deepspeed|(pytorch-)?fsdp2?|hugging-face|pytorch|reference|torchtitan(-toml)?)$/;

/** Whether a family of engines runs on PyTorch alone. */
export function isPyTorchEngine(family: string): boolean {
  return PYTORCH_ENGINES.test(family);
}

/** The properties of a run that select similar rows. */
export interface RunLikeRows {
  readonly chip: string;
  readonly stack: string;
  readonly hasExperts: boolean;
}

type StandsOn = (typeof STANDS_ON)[number];

/**
 * The errors of the rows most similar to a run: those of its chip, engine family and kind of model. If these are too few, those of its family and kind.
 * If these are too few as well, those of all engines on PyTorch if its engine is one, else those of its kind. For a family that was not fitted, errors
 * with whole sources left out.
 *
 * @throws Error if no rows of its kind are recorded
 */
export function errorsLike(errors: CalibrationErrors, run: RunLikeRows): CellOfRun {
  const { families, groupsLeftOut, sourcesLeftOut, pytorchEngines } = errors;
  const family = familyOfStack(run.stack);
  const ofItsOwn: readonly Candidate[] = [
    ['chip', groupsLeftOut, { engineFamily: family, chip: run.chip }],
    ['engineFamily', groupsLeftOut, { engineFamily: family }],
  ];
  const others: Candidate = families.includes(family)
    ? ['allEngines', groupsLeftOut, {}]
    : ['otherSources', sourcesLeftOut, {}];
  return firstCell(run, [...ofItsOwn, ...pytorchCandidates(family, pytorchEngines), others]);
}

/**
 * The same for peaks of memory.
 *
 * @throws Error if no rows of its kind are recorded
 */
export function memoryErrorsLike({ memory }: CalibrationErrors, run: RunLikeRows): CellOfRun {
  const family = familyOfStack(run.stack);
  const isOwn = isPyTorchEngine(family) ? 'pytorchEngines' : 'engineFamily';
  const pool: readonly Candidate[] = isPyTorchEngine(family)
    ? [['pytorchEngines', memory, { engineFamily: ALL_PYTORCH }]]
    : [];
  return firstCell(run, [[isOwn, memory, { engineFamily: family }], ...pool, ['allEngines', memory, {}]]);
}

/** Name of the cell of memory of all engines on PyTorch. */
export const ALL_PYTORCH = 'any on PyTorch';

type CellOfRun = ErrorCell & { readonly standsOn: StandsOn };
type CellName = Pick<ErrorCell, 'engineFamily' | 'chip'>;
type Candidate = readonly [StandsOn, readonly ErrorCell[], CellName];

function pytorchCandidates(family: string, cells: readonly ErrorCell[]): readonly Candidate[] {
  if (!isPyTorchEngine(family)) return [];
  return [
    ['pytorchEngines', cells, { engineFamily: family }],
    ['pytorchEngines', cells, {}],
  ];
}

function firstCell({ hasExperts }: RunLikeRows, candidates: readonly Candidate[]): CellOfRun {
  const kind = hasExperts ? 'experts' : 'dense';
  for (const [standsOn, cells, { engineFamily, chip }] of candidates) {
    const cell = cells.find((each) => each.kind === kind && each.engineFamily === engineFamily && each.chip === chip);
    if (cell !== undefined) return { ...cell, standsOn };
  }
  throw new Error(`errors.json holds no errors of ${kind} models: record them with npm run planner:cross-validate`);
}

/** A description of the rows for users. It contains no text of the request. */
export function basisOf({ kind, engineFamily, chip, standsOn }: CellOfRun): string {
  const models = kind === 'dense' ? 'dense models' : 'models with experts';
  switch (standsOn) {
    case 'chip':
      return `step times of ${models} with ${engineFamily ?? ''} on ${(chip ?? '').toUpperCase()} chips`;
    case 'engineFamily':
      return `step times of ${models} with ${engineFamily ?? ''} on all chips, because this chip has fewer than ${MIN_CELL_ROWS} measurements`;
    case 'pytorchEngines':
      return `step times of ${models} with ${engineFamily ?? 'engines'} on PyTorch outside the fit, because few runs of this engine are published`;
    case 'allEngines':
      return `step times of ${models} with any engine, because this engine has fewer than ${MIN_CELL_ROWS} measurements`;
    case 'otherSources':
      return `step times of ${models} with whole sources left out, because this engine has no measurements`;
  }
}
