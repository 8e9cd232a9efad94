import type { MeasuredPrediction } from '@coxswain/api-types';

/** Where something stands on an axis, in the units of the picture. */
export interface Scatter {
  readonly points: readonly { readonly item: MeasuredPrediction; readonly x: number; readonly y: number }[];
  /** 1, 2 and 5 times powers of ten within the axis, with their label; of more than two decades the powers alone. */
  readonly ticks: readonly { readonly label: string; readonly position: number }[];
  readonly at: {
    /** Distance along an axis of a step time that is `times` as long. */
    readonly shift: (times: number) => number;
  };
}

/** Puts measured times on x and predicted ones on y, on one logarithmic scale that holds them all with a tenth of a decade to spare. */
export function scatterOf(
  items: readonly MeasuredPrediction[],
  axis: { readonly from: number; readonly to: number },
): Scatter {
  const shown = items.filter(({ measuredMs, predictedMs }) => measuredMs > 0 && predictedMs > 0);
  const logs = shown.flatMap(({ measuredMs, predictedMs }) => [Math.log10(measuredMs), Math.log10(predictedMs)]);
  const low = Math.min(...logs, Infinity) === Infinity ? 0 : Math.min(...logs) - 0.1;
  const high = Math.max(low + 1, ...logs.map((log) => log + 0.1));
  const perDecade = (axis.to - axis.from) / (high - low);
  const position = (ms: number): number => axis.from + (Math.log10(ms) - low) * perDecade;
  const decades = Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, index) => Math.floor(low) + index);
  const steps = high - low > 2 ? [1] : [1, 2, 5];
  const marks = decades.flatMap((decade) => steps.map((step) => step * 10 ** decade));
  return {
    points: shown.map((item) => ({ item, x: position(item.measuredMs), y: position(item.predictedMs) })),
    ticks: marks
      .filter((ms) => Math.log10(ms) >= low && Math.log10(ms) <= high)
      .map((ms) => ({ label: labelOf(ms), position: position(ms) })),
    at: { shift: (times) => Math.log10(times) * perDecade },
  };
}

function labelOf(ms: number): string {
  return ms < 1000 ? `${Number(ms.toPrecision(1))} ms` : `${ms / 1000} s`;
}
