import type { StepPoint } from '@coxswain/api-types';

/** Points of a loss curve by their first step, ascending. A point is one step or several; points do not overlap. Attempts never decrease along the curve. */
export type Curve = ReadonlyMap<number, StepPoint>;

/**
 * The curve with these points. Where attempts overlap the newest counts. A restart starts at its checkpoint, so steps of an earlier
 * attempt after the first step of a later one are dropped.
 */
export function withPoints(curve: Curve, points: readonly StepPoint[]): Curve {
  if (points.length === 0) return curve;
  const merged = new Map(curve);
  let last = lastPoint(curve);
  let isAppended = true;
  for (const point of points) {
    const known = merged.get(point.step);
    if (known === undefined || known.epoch <= point.epoch) merged.set(point.step, point);
    isAppended &&= last === undefined || (point.step > lastStepOf(last) && point.epoch >= last.epoch);
    last = point;
  }
  // A live curve grows at its end, several times a second: sorting 20,000 points each time would be felt.
  return isAppended ? merged : withoutUndone(merged);
}

function withoutUndone(merged: ReadonlyMap<number, StepPoint>): Curve {
  const kept = new Map<number, StepPoint>();
  let newestEpoch = 0;
  let last: StepPoint | undefined;
  for (const point of [...merged.values()].sort((a, b) => a.step - b.step)) {
    if (point.epoch < newestEpoch) continue;
    // Steps that came one by one before a point was read that has them all.
    if (last !== undefined && point.epoch === last.epoch && point.step <= lastStepOf(last)) continue;
    newestEpoch = point.epoch;
    last = point;
    kept.set(point.step, point);
  }
  return kept;
}

function lastStepOf({ step, bucket }: StepPoint): number {
  return bucket?.lastStep ?? step;
}

function lastPoint(curve: Curve): StepPoint | undefined {
  let last: StepPoint | undefined;
  for (const point of curve.values()) last = point;
  return last;
}

type Value = (point: StepPoint) => number | null;

/** Columns for a plot: steps, and the values of each kind; null where there is none, and once in a stretch of steps that was not recorded. */
export function columnsOf(curve: Curve, ...values: readonly Value[]): [number[], ...(number | null)[][]] {
  return columnsWith(curve, Math.min(spacingOf(curve), spacingInPoints(curve)), values);
}

function columnsWith(curve: Curve, spacing: number, values: readonly Value[]): [number[], ...(number | null)[][]] {
  const steps: number[] = [];
  const columns = values.map((): (number | null)[] => []);
  let previous: number | undefined;
  for (const point of curve.values()) {
    if (previous !== undefined && point.step - previous > 2 * spacing) {
      steps.push(previous + spacing);
      for (const column of columns) column.push(null);
    }
    steps.push(point.step);
    values.forEach((value, index) => columns[index]?.push(value(point)));
    previous = lastStepOf(point);
  }
  return [steps, ...columns];
}

/** Values that the API keeps of each step. */
export type SeriesName = 'loss' | 'gradNorm' | 'learningRate' | 'tokensPerSecond';

/**
 * A value with the least and the greatest of the steps of each point. Points without the value are left out: many programs print the loss of every tenth step, and
 * a line through single points between empty ones would not be drawn.
 */
export function rangeColumnsOf(curve: Curve, name: SeriesName): [number[], ...(number | null)[][]] {
  const values: readonly Value[] = [
    (point) => point[name],
    (point) => point.bucket?.[name]?.min ?? point[name],
    (point) => point.bucket?.[name]?.max ?? point[name],
  ];
  const known = new Map([...curve].filter(([, point]) => point[name] !== null));
  return known.size === curve.size ? columnsOf(curve, ...values) : columnsWith(known, spacingOf(known), values);
}

/** Smallest distance between two points: an engine may report every tenth step only. */
function spacingOf(curve: Curve): number {
  let spacing = Infinity;
  let previous: number | undefined;
  for (const point of curve.values()) {
    if (previous !== undefined) spacing = Math.min(spacing, point.step - previous);
    previous = lastStepOf(point);
  }
  return spacing;
}

/** Smallest distance between two steps of one point. */
function spacingInPoints(curve: Curve): number {
  let spacing = Infinity;
  for (const { bucket, step } of curve.values())
    if (bucket !== null && bucket.steps > 1) spacing = Math.min(spacing, (bucket.lastStep - step) / (bucket.steps - 1));
  return spacing;
}

/** Steps at which a new attempt started. */
export function epochStarts(curve: Curve): readonly { readonly epoch: number; readonly step: number }[] {
  const starts: { epoch: number; step: number }[] = [];
  let epoch: number | undefined;
  for (const point of curve.values()) {
    if (epoch !== undefined && point.epoch !== epoch) starts.push({ epoch: point.epoch, step: point.step });
    epoch = point.epoch;
  }
  return starts;
}
