import type { StepPoint } from '@coxswain/api-types';

/** The steps of a job, one point per step, ascending. Where epochs overlap, the newest is the one that counts. */
export type Curve = ReadonlyMap<number, StepPoint>;

/** The curve with these points; a point of an earlier epoch never replaces one of a later. */
export function withPoints(curve: Curve, points: readonly StepPoint[]): Curve {
  const merged = new Map(curve);
  for (const point of points) {
    const known = merged.get(point.step);
    if (known === undefined || known.epoch <= point.epoch) merged.set(point.step, point);
  }
  // A restart begins again at its checkpoint: what the earlier epoch did beyond the newest point is undone.
  const newestEpoch = Math.max(0, ...points.map((point) => point.epoch));
  const newestStep = Math.max(-1, ...points.filter((point) => point.epoch === newestEpoch).map((point) => point.step));
  for (const [step, point] of merged) if (step > newestStep && point.epoch < newestEpoch) merged.delete(step);
  return new Map([...merged].sort(([a], [b]) => a - b));
}

/** Columns for a plot: steps and one value each; null where there is none. */
export function columnsOf(curve: Curve, value: (point: StepPoint) => number | null): [number[], (number | null)[]] {
  const points = [...curve.values()];
  return [points.map((point) => point.step), points.map(value)];
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
