import type { StepPoint } from '@coxswain/api-types';

/** The steps of a job, one point per step, ascending; epochs never fall along it. */
export type Curve = ReadonlyMap<number, StepPoint>;

/**
 * The curve with these points. Where epochs overlap the newest counts; and since a restart begins again at its checkpoint, what an earlier
 * epoch did beyond the first step of a later one is undone.
 */
export function withPoints(curve: Curve, points: readonly StepPoint[]): Curve {
  if (points.length === 0) return curve;
  const merged = new Map(curve);
  let last = lastPoint(curve);
  let isAppended = true;
  for (const point of points) {
    const known = merged.get(point.step);
    if (known === undefined || known.epoch <= point.epoch) merged.set(point.step, point);
    isAppended &&= last === undefined || (point.step > last.step && point.epoch >= last.epoch);
    last = point;
  }
  // A live curve grows at its end, several times a second: sorting 20,000 points each time would be felt.
  return isAppended ? merged : withoutUndone(merged);
}

function withoutUndone(merged: ReadonlyMap<number, StepPoint>): Curve {
  const kept = new Map<number, StepPoint>();
  let newestEpoch = 0;
  for (const point of [...merged.values()].sort((a, b) => a.step - b.step)) {
    if (point.epoch < newestEpoch) continue;
    newestEpoch = point.epoch;
    kept.set(point.step, point);
  }
  return kept;
}

function lastPoint(curve: Curve): StepPoint | undefined {
  let last: StepPoint | undefined;
  for (const point of curve.values()) last = point;
  return last;
}

/** Columns for a plot: steps and one value each; null where there is none, and once in a stretch of steps that was not recorded. */
export function columnsOf(curve: Curve, value: (point: StepPoint) => number | null): [number[], (number | null)[]] {
  const steps: number[] = [];
  const values: (number | null)[] = [];
  const spacing = usualSpacing(curve);
  let previous: number | undefined;
  for (const point of curve.values()) {
    if (previous !== undefined && point.step - previous > 2 * spacing) {
      steps.push(previous + spacing);
      values.push(null);
    }
    steps.push(point.step);
    values.push(value(point));
    previous = point.step;
  }
  return [steps, values];
}

/** Smallest distance between two steps of the curve: an engine may report every tenth step only. */
function usualSpacing(curve: Curve): number {
  let spacing = Infinity;
  let previous: number | undefined;
  for (const step of curve.keys()) {
    if (previous !== undefined) spacing = Math.min(spacing, step - previous);
    previous = step;
  }
  return spacing;
}

/** Steps at which a new epoch took over. */
export function epochStarts(curve: Curve): readonly { readonly epoch: number; readonly step: number }[] {
  const starts: { epoch: number; step: number }[] = [];
  let epoch: number | undefined;
  for (const point of curve.values()) {
    if (epoch !== undefined && point.epoch !== epoch) starts.push({ epoch: point.epoch, step: point.step });
    epoch = point.epoch;
  }
  return starts;
}
