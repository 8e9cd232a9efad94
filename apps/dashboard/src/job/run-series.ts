/** Curves of several runs over one axis: steps, tokens or time. */
import { type Attempt, nameOfRun, startStepOf, type StepPoint } from '@coxswain/api-types';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@coxswain/units';
import { type Curve, epochStarts, rangeColumnsOf, type SeriesName } from './curve.ts';

export const X_AXES = ['steps', 'tokens', 'time'] as const;
export type XAxis = (typeof X_AXES)[number];

type Values = readonly (number | null)[];

/** A series of one run. All columns are equally long, and `x` never decreases. */
export interface RunSeries {
  readonly x: readonly number[];
  readonly value: Values;
  /** What was measured, where `value` is smoothed. */
  readonly raw: Values | undefined;
  /** The least and the greatest of the steps for which each value stands. */
  readonly range: readonly [least: Values, greatest: Values];
}

/** How a curve is drawn. */
export interface CurveView {
  readonly axis: XAxis;
  /** 0: as measured; below 1: weight of what was before. */
  readonly smoothing: number;
}

/** Of a token or a millisecond: less than the distance between two steps. */
const GAP_WIDTH = 0.5;

/** The last step that a point stands for, and how many were recorded. */
const lastStepOf = ({ step, bucket }: StepPoint): number => bucket?.lastStep ?? step;
const stepsIn = ({ bucket }: StepPoint): number => bucket?.steps ?? 1;

/**
 * Where each step of the curve is on the axis: tokens since the beginning of training, or milliseconds since its first step began. Steps that were not recorded
 * count as many tokens as those before them. Undefined: the run does not report tokens.
 */
export function positionsOf(curve: Curve, axis: XAxis): ReadonlyMap<number, number> | undefined {
  const positions = new Map<number, number>();
  let [tokens, nextStep] = [0, 1];
  let beganMs: number | undefined;
  let elapsedMs = 0;
  for (const point of curve.values()) {
    if (axis === 'steps') positions.set(point.step, point.step);
    if (axis === 'time') {
      const at = Date.parse(point.at);
      beganMs ??= at - point.stepTimeMs * stepsIn(point);
      // The clocks of two nodes differ, and time on an axis does not go back.
      elapsedMs = Math.max(elapsedMs, at - beganMs);
      positions.set(point.step, elapsedMs);
    }
    if (axis === 'tokens') {
      if (point.tokens === null) return undefined;
      const each = point.tokens / stepsIn(point);
      tokens += each * Math.max(0, point.step - nextStep) + point.tokens;
      nextStep = lastStepOf(point) + 1;
      positions.set(point.step, tokens);
    }
  }
  return positions;
}

/** A series of the run on that axis, smoothed. Undefined: the axis needs what the run does not report. */
export function seriesOf(curve: Curve, name: SeriesName, { axis, smoothing }: CurveView): RunSeries | undefined {
  const positions = positionsOf(curve, axis);
  if (positions === undefined) return undefined;
  const [steps, value = [], least = [], greatest = []] = rangeColumnsOf(curve, name);
  const x = steps.map((step, index) => positions.get(step) ?? gapBefore(steps[index + 1], step, { axis, positions }));
  const isSmoothed = smoothing > 0;
  return {
    x,
    value: isSmoothed ? smoothed(value, smoothing) : value,
    raw: isSmoothed ? value : undefined,
    range: [least, greatest],
  };
}

/** The place of a gap, which is no step of the curve: just before the step after it. */
function gapBefore(
  next: number | undefined,
  step: number,
  { axis, positions }: { readonly axis: XAxis; readonly positions: ReadonlyMap<number, number> },
): number {
  return axis === 'steps' ? step : (positions.get(next ?? step) ?? step) - GAP_WIDTH;
}

/** A running mean in which earlier values count less and less, without a bias to zero at the beginning. A gap stays one. */
export function smoothed(values: Values, weight: number): Values {
  let [sum, count] = [0, 0];
  return values.map((value) => {
    if (value === null) return null;
    sum = sum * weight + (1 - weight) * value;
    count = count * weight + (1 - weight);
    return sum / count;
  });
}

/** Whether the run reports the series at all. */
export function hasSeries(curve: Curve, name: SeriesName): boolean {
  for (const point of curve.values()) if (point[name] !== null) return true;
  return false;
}

/** What the marks of a run need of its attempts. */
export type RunAttempt = Pick<Attempt, 'epoch' | 'incarnation' | 'incarnations' | 'resumedFrom' | 'memorySave'>;

/** Where new attempts of the run began, and where ranks restarted in their pods, on that axis. If several began at one place, the last is named. */
export function restartsOf(
  curve: Curve,
  axis: XAxis,
  attempts: readonly RunAttempt[] = [],
): readonly { readonly x: number; readonly label: string }[] {
  const positions = positionsOf(curve, axis);
  const starts = [
    ...epochStarts(curve).map(({ epoch, step }) => ({ step, label: `attempt ${epoch}` })),
    ...attempts.flatMap((attempt) => restartsInPlace(curve, attempt)),
  ].sort((one, other) => one.step - other.step);
  const labels = new Map<number, string>();
  for (const { step, label } of starts) {
    const x = positions?.get(step);
    if (x !== undefined) labels.set(x, label);
  }
  return [...labels].map(([x, label]) => ({ x, label }));
}

/** The first point of each later incarnation of the attempt. None if a later attempt trained its steps again. */
function restartsInPlace(
  curve: Curve,
  attempt: RunAttempt,
): readonly { readonly step: number; readonly label: string }[] {
  const { epoch, incarnation = 1, incarnations = [], resumedFrom, memorySave } = attempt;
  const runs = [...incarnations, { incarnation, resumedFrom, memorySave }].filter((run) => run.incarnation > 1);
  return runs.flatMap((run) => {
    const begin = startStepOf(run) + 1;
    for (const point of curve.values())
      if (point.epoch === epoch && lastStepOf(point) >= begin)
        return [{ step: point.step, label: `attempt ${nameOfRun(epoch, run.incarnation)}` }];
    return [];
  });
}

/** For a logarithmic axis, which has no place for zero and below. */
export function positiveOnly(values: Values): Values {
  return values.map((value) => (value !== null && value > 0 ? value : null));
}

const TIME_UNITS = [
  [2 * MINUTE_MS, SECOND_MS, 's'],
  [2 * HOUR_MS, MINUTE_MS, 'min'],
  [3 * DAY_MS, HOUR_MS, 'h'],
  [Infinity, DAY_MS, 'd'],
] as const;
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 });

/** How positions on the axis are divided before they are drawn, so that marks of the axis are round numbers, and how they are written. */
export function axisFormat(
  axis: XAxis,
  greatest: number,
): { readonly unit: number; readonly label: string; readonly format: (value: number) => string } {
  if (axis === 'steps')
    return { unit: 1, label: 'step', format: (value) => (Number.isInteger(value) ? value.toLocaleString('en') : '') };
  if (axis === 'tokens') return { unit: 1, label: 'tokens', format: (value) => compact.format(value) };
  const [, unit, name] = TIME_UNITS.find(([below]) => greatest < below) ?? TIME_UNITS[3];
  return { unit, label: 'time', format: (value) => `${Number(value.toFixed(2)).toLocaleString('en')} ${name}` };
}
