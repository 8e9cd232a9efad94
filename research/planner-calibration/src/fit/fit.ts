/**
 * Fits constants to measured step times.
 *
 * Levenberg-Marquardt on the logarithm of predicted over measured, with Student-t weights against outliers and a Gaussian prior on every
 * parameter: shared constants around their start, multipliers around 1, but for what is known of an architecture. Derivatives by constant are finite differences; those of a
 * multiplier are sums of them, because it multiplies its constants. Deterministic: the same rows give the same result.
 */
import { newScheduleScratch } from '@coxswain/planner';
import { CholeskyDecomposition, Matrix } from 'ml-matrix';
import { architectureOf, startOfArchitecture, withArchitectures } from './architectures.ts';
import {
  ADJUSTMENT_NAMES,
  ADJUSTMENTS,
  constantsFor,
  familyOfStack,
  predictStepTime,
  TIME_CONSTANT_NAMES,
  TIME_CONSTANTS,
  type AdjustmentName,
  type Calibration,
  type RunFacts,
  type TimeConstantName,
  type TimeConstants,
} from '@coxswain/planner/calibration';

/** One measured run: seconds per step, and how much its residual counts (1 is full weight). */
export interface FitRow {
  readonly run: RunFacts;
  readonly measuredS: number;
  readonly weight: number;
}

/** Settings of a fit. It stops after `iterations` steps at the latest; `start` is {@link unfitted} if absent. */
export interface FitOptions {
  readonly fittedOn: string;
  readonly iterations: number;
  /** Prior standard deviations, in natural logarithm, of the multipliers of a chip, a family and a release. */
  readonly sd: {
    readonly gpus: number;
    /** Of a chip around the chips of its own architecture. */
    readonly siblings: number;
    readonly families: number;
    readonly stacks: number;
  };
  /** What a release may move beyond its family. */
  readonly releasesMove: readonly AdjustmentName[];
  /** Measurement noise, in natural logarithm, and degrees of freedom of its Student-t distribution. */
  readonly noise: number;
  readonly freedom: number;
  readonly start?: Calibration;
  readonly onIteration?: (iteration: number, objective: number) => void;
}

/** What a parameter belongs to; `architectures` are the chips' own common part, and a calibration holds them multiplied. */
type Level = 'shared' | 'architectures' | 'gpus' | 'families' | 'stacks';

interface Parameter {
  readonly level: Level;
  readonly owner: string;
  readonly name: string;
  readonly sd: number;
}

/** A calibration with every constant at its start value. */
export function unfitted(): Calibration {
  const shared = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start]));
  return { fittedOn: 'nothing', shared: shared as Calibration['shared'], gpus: {}, families: {}, stacks: {} };
}

/** The constants that explain the rows best under the prior. The fit stops early if the objective improves by less than 0.001 %. */
export function fit(rows: readonly FitRow[], options: FitOptions): Calibration {
  const parameters = parametersFor(rows, options);
  const start = options.start ?? unfitted();
  const prior = parameters.map(priorOf);
  let at = parameters.map((parameter, index) => valueIn(start, parameter) ?? prior[index] ?? 0);
  const places = rows.map((row) => placesOf(row, parameters));
  const slopes = new Slopes(rows);
  let damping = 0.01;
  let current = residualsOf(rows, calibrationOf(parameters, at, options.fittedOn));
  let objective = objectiveOf({ rows, residuals: current, at, prior, parameters, options });
  for (let iteration = 0; iteration < options.iterations; iteration++) {
    if (isFresh(iteration)) slopes.measure(calibrationOf(parameters, at, options.fittedOn), current);
    const point = { rows, residuals: current, parameters, at, prior, options };
    const { normal, gradient } = normalEquations(point, places, slopes);
    let improved = false;
    for (let attempt = 0; attempt < 6 && !improved; attempt++) {
      const step = solve(normal, gradient, damping);
      const next = at.map((value, index) => value - clamp(step[index] ?? 0, 0.7));
      const residuals = residualsOf(rows, calibrationOf(parameters, next, options.fittedOn));
      const value = objectiveOf({ rows, residuals, at: next, prior, parameters, options });
      if (value < objective) {
        improved = objective - value > 1e-5 * objective;
        at = next;
        current = residuals;
        objective = value;
        damping = Math.max(damping / 5, 1e-6);
        break;
      }
      damping *= 6;
    }
    options.onIteration?.(iteration, objective);
    if (!improved) break;
  }
  return calibrationOf(parameters, at, options.fittedOn);
}

/** Logarithm of where a parameter starts. */
function priorOf({ level, owner, name }: Parameter): number {
  if (level === 'shared') return Math.log(TIME_CONSTANTS[name as TimeConstantName].start);
  return level === 'architectures' ? Math.log(startOfArchitecture(owner, name as AdjustmentName)) : 0;
}

const clamp = (value: number, limit: number): number => Math.max(-limit, Math.min(limit, value));

function parametersFor(rows: readonly FitRow[], options: FitOptions): readonly Parameter[] {
  const shared = TIME_CONSTANT_NAMES.filter((name) => TIME_CONSTANTS[name].sd > 0).map((name): Parameter => ({
    level: 'shared',
    owner: '',
    name,
    sd: TIME_CONSTANTS[name].sd,
  }));
  const owners = (
    level: Exclude<Level, 'shared'>,
    names: readonly AdjustmentName[],
    of: (row: FitRow) => string | undefined,
  ): Parameter[] =>
    [...new Set(rows.map(of).filter((owner) => owner !== undefined))]
      .sort()
      .flatMap((owner) => names.map((name): Parameter => ({ level, owner, name, sd: sdOf(level, owner, options) })));
  return [
    ...shared,
    ...owners('architectures', ADJUSTMENT_NAMES, (row) => architectureOf(row.run.cluster.gpu.silicon)),
    ...owners('gpus', ADJUSTMENT_NAMES, (row) => row.run.cluster.gpu.silicon),
    ...owners('families', ADJUSTMENT_NAMES, (row) => familyOfStack(row.run.stack)),
    ...owners('stacks', options.releasesMove, releaseWithExperts),
  ];
}

function sdOf(level: Exclude<Level, 'shared'>, owner: string, { sd }: FitOptions): number {
  if (level === 'architectures') return sd.gpus;
  return level === 'gpus' && architectureOf(owner) !== undefined ? sd.siblings : sd[level];
}

/** Releases differ in what models with experts cost; of dense models groups of rows are predicted as well without them. */
function releaseWithExperts({ run }: FitRow): string | undefined {
  return run.model.experts === undefined || run.stack === familyOfStack(run.stack) ? undefined : run.stack;
}

function valueIn(calibration: Calibration, parameter: Parameter): number | undefined {
  if (parameter.level === 'architectures') return undefined;
  const value =
    parameter.level === 'shared'
      ? calibration.shared[parameter.name as TimeConstantName]
      : (calibration[parameter.level][parameter.owner] as Record<string, number> | undefined)?.[parameter.name];
  return value === undefined ? undefined : Math.log(value);
}

function calibrationOf(parameters: readonly Parameter[], at: readonly number[], fittedOn: string): Calibration {
  const base = unfitted();
  const shared = { ...base.shared };
  const levels = {
    architectures: {} as Record<string, Record<string, number>>,
    gpus: {} as Record<string, Record<string, number>>,
    families: {} as Record<string, Record<string, number>>,
    stacks: {} as Record<string, Record<string, number>>,
  };
  parameters.forEach((parameter, index) => {
    const value = Math.exp(at[index] ?? 0);
    if (parameter.level === 'shared') shared[parameter.name as TimeConstantName] = value;
    else (levels[parameter.level][parameter.owner] ??= {})[parameter.name] = value;
  });
  const { architectures, gpus, families, stacks } = levels;
  return { fittedOn, shared, gpus: withArchitectures(gpus, architectures), families, stacks };
}

/** Parameters that a row depends on: the index of each, and the constants it multiplies. */
type Places = readonly { readonly index: number; readonly constants: readonly number[] }[];

function placesOf(row: FitRow, parameters: readonly Parameter[]): Places {
  const constantIndex = (name: string): number => TIME_CONSTANT_NAMES.indexOf(name as TimeConstantName);
  const places: { index: number; constants: readonly number[] }[] = [];
  parameters.forEach(({ level, owner, name }, index) => {
    if (level === 'shared') places.push({ index, constants: [constantIndex(name)] });
    const { silicon } = row.run.cluster.gpu;
    const mine = {
      architectures: architectureOf(silicon),
      gpus: silicon,
      families: familyOfStack(row.run.stack),
      stacks: row.run.stack,
    };
    if (level !== 'shared' && mine[level] === owner) {
      const moved: readonly TimeConstantName[] = ADJUSTMENTS[name as keyof typeof ADJUSTMENTS];
      places.push({ index, constants: moved.map(constantIndex) });
    }
  });
  return places;
}

function cachedConstants(calibration: Calibration): (run: RunFacts) => TimeConstants {
  const known = new Map<string, TimeConstants>();
  return (run) => {
    const key = `${run.cluster.gpu.silicon}|${run.stack}`;
    let constants = known.get(key);
    if (constants === undefined)
      known.set(key, (constants = constantsFor(calibration, run.cluster.gpu.silicon, run.stack)));
    return constants;
  };
}

/** Buffers of the schedule simulation, reused over all predictions of this program. */
const SCRATCH = { scratch: newScheduleScratch() };

function residualsOf(rows: readonly FitRow[], calibration: Calibration): Float64Array {
  const constants = cachedConstants(calibration);
  return Float64Array.from(rows, (row) =>
    Math.log(predictStepTime(row.run, constants(row.run), SCRATCH).stepTimeS / row.measuredS),
  );
}

interface Point {
  readonly rows: readonly FitRow[];
  readonly residuals: Float64Array;
  readonly at: readonly number[];
  readonly prior: readonly number[];
  readonly parameters: readonly Parameter[];
  readonly options: FitOptions;
}

function objectiveOf({ rows, residuals, at, prior, parameters, options }: Point): number {
  const { noise, freedom } = options;
  let sum = 0;
  rows.forEach((row, index) => {
    const r = (residuals[index] ?? 0) / noise;
    sum += row.weight * ((freedom + 1) / 2) * Math.log(1 + (r * r) / freedom);
  });
  parameters.forEach(({ sd }, index) => {
    const d = ((at[index] ?? 0) - (prior[index] ?? 0)) / sd;
    sum += 0.5 * d * d;
  });
  return sum;
}

const DIFFERENCE = 0.01;

/** Derivatives of every row's prediction by every constant, both as logarithms. */
class Slopes {
  readonly #rows: readonly FitRow[];
  readonly #ofRow: readonly Float64Array[];
  /** Per row, constants that its prediction does not depend on; filled at the first visit. */
  readonly #unused: readonly Set<number>[];

  constructor(rows: readonly FitRow[]) {
    this.#rows = rows;
    this.#ofRow = rows.map(() => new Float64Array(TIME_CONSTANT_NAMES.length));
    this.#unused = rows.map(() => new Set());
  }

  measure(calibration: Calibration, residuals: Float64Array): void {
    const constantsOf = cachedConstants(calibration);
    this.#rows.forEach((row, at) => this.#measureRow(at, { ...constantsOf(row.run) }, residuals[at] ?? 0));
  }

  #measureRow(at: number, constants: Record<TimeConstantName, number>, residual: number): void {
    const row = this.#rows[at];
    const slopes = this.#ofRow[at];
    const unused = this.#unused[at];
    if (row === undefined || slopes === undefined || unused === undefined) return;
    TIME_CONSTANT_NAMES.forEach((name, index) => {
      if (unused.has(index)) return;
      const before = constants[name];
      constants[name] = before * (1 + DIFFERENCE);
      const moved = Math.log(predictStepTime(row.run, constants, SCRATCH).stepTimeS / row.measuredS);
      constants[name] = before;
      slopes[index] = (moved - residual) / Math.log(1 + DIFFERENCE);
      if (moved === residual) unused.add(index);
    });
  }

  /** Derivative by a parameter, which moves all its constants together. */
  of(at: number, constants: readonly number[]): number {
    return constants.reduce((sum, index) => sum + (this.#ofRow[at]?.[index] ?? 0), 0);
  }
}

/** Slopes change little once the fit is near: they are measured in each of the first steps, then in every third. */
function isFresh(iteration: number): boolean {
  return iteration < 4 || iteration % 3 === 0;
}

function normalEquations(
  { rows, residuals, parameters, at, prior, options }: Point,
  places: readonly Places[],
  slopes: Slopes,
): { readonly normal: Matrix; readonly gradient: Float64Array } {
  const size = parameters.length;
  const normal = Matrix.zeros(size, size);
  const gradient = new Float64Array(size);
  rows.forEach((row, rowIndex) => {
    const residual = residuals[rowIndex] ?? 0;
    const r = residual / options.noise;
    const weight = (row.weight * (options.freedom + 1)) / (options.freedom + r * r) / (options.noise * options.noise);
    const own = (places[rowIndex] ?? [])
      .map(({ index, constants }) => ({ index, slope: slopes.of(rowIndex, constants) }))
      .filter(({ slope }) => slope !== 0);
    for (const a of own) {
      gradient[a.index] = (gradient[a.index] ?? 0) + weight * a.slope * residual;
      for (const b of own) {
        if (b.index > a.index) continue;
        const value = normal.get(a.index, b.index) + weight * a.slope * b.slope;
        normal.set(a.index, b.index, value);
        normal.set(b.index, a.index, value);
      }
    }
  });
  parameters.forEach(({ sd }, index) => {
    const precision = 1 / (sd * sd);
    gradient[index] = (gradient[index] ?? 0) + precision * ((at[index] ?? 0) - (prior[index] ?? 0));
    normal.set(index, index, normal.get(index, index) + precision);
  });
  return { normal, gradient };
}

function solve(normal: Matrix, gradient: Float64Array, damping: number): readonly number[] {
  const damped = normal.clone();
  for (let index = 0; index < gradient.length; index++)
    damped.set(index, index, normal.get(index, index) * (1 + damping));
  return new CholeskyDecomposition(damped).solve(Matrix.columnVector(Array.from(gradient))).to1DArray();
}
