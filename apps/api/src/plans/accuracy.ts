import type { AccuracyFigures, AccuracyGroup, MeasuredPrediction } from '@coxswain/api-types';

/** (predicted - measured) / measured, in percent, to a tenth. */
export function errorPctOf(predictedMs: number, measuredMs: number): number {
  return tenth(((predictedMs - measuredMs) / measuredMs) * 100);
}

/** How far predictions were off. The quantiles are the nearest that occur, the lower of two for the median of an even number. */
export function accuracyOf(errorsPct: readonly number[]): AccuracyFigures {
  const n = errorsPct.length;
  if (n === 0) return { n, medianAbsPct: null, p90AbsPct: null, biasPct: null, within10: null, within20: null };
  const absolute = errorsPct.map(Math.abs).sort((a, b) => a - b);
  const quantile = (share: number): number => absolute[Math.max(0, Math.ceil(share * n) - 1)] ?? 0;
  const within = (limitPct: number): number => tenth((absolute.filter((error) => error <= limitPct).length / n) * 100);
  return {
    n,
    medianAbsPct: quantile(0.5),
    p90AbsPct: quantile(0.9),
    biasPct: tenth(errorsPct.reduce((sum, error) => sum + error, 0) / n),
    within10: within(10),
    within20: within(20),
  };
}

/** By engine and GPU, largest group first. */
export function accuracyGroups(items: readonly MeasuredPrediction[]): readonly AccuracyGroup[] {
  const groups = Map.groupBy(items, ({ engine, gpuType }) => JSON.stringify([engine, gpuType]));
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const { engine, gpuType } = first;
      return [{ engine, gpuType, ...accuracyOf(group.map(({ errorPct }) => errorPct)) }];
    })
    .sort((a, b) => b.n - a.n || (a.engine + a.gpuType < b.engine + b.gpuType ? -1 : 1));
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10;
}
