import type { JobGoodput } from '@coxswain/api-types';

/** A stretch of time. */
export interface Period {
  readonly fromMs: number;
  /** Not included. */
  readonly toMs: number;
}

/** The month in UTC that the text names, such as `2030-01`; undefined: it names none. */
export function monthOf(text: string): Period | undefined {
  const [, year, month] = /^([0-9]{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  if (year === undefined || month === undefined) return undefined;
  return { fromMs: Date.UTC(Number(year), Number(month) - 1), toMs: Date.UTC(Number(year), Number(month)) };
}

/** GPU time that a job held within a period. */
export interface HeldTime extends Period {
  readonly gpuSeconds: number;
  /** Of them, those of steps that counted, without repeated ones. */
  readonly productiveGpuSeconds: number;
}

/**
 * The GPU time of a job within `period`, from its first to its last second with GPUs there; undefined where it held none. Pods that a lost node keeps
 * (`lostNode`) are in no span, so they are not counted. The spans of a job with more than {@link MAX_GOODPUT_SPANS} changes are slices, so its figures are approximate.
 */
export function heldWithin(goodput: Pick<JobGoodput, 'spans'>, period: Period): HeldTime | undefined {
  const held = goodput.spans.flatMap(({ from, to, gpus, spent }) => {
    const fromMs = Math.max(Date.parse(from), period.fromMs);
    const toMs = Math.min(Date.parse(to), period.toMs);
    return gpus > 0 && toMs > fromMs ? [{ fromMs, toMs, spent, gpuSeconds: (gpus * (toMs - fromMs)) / 1000 }] : [];
  });
  const [first, last] = [held[0], held.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const sumOf = (spans: typeof held): number => spans.reduce((sum, { gpuSeconds }) => sum + gpuSeconds, 0);
  return {
    fromMs: first.fromMs,
    toMs: last.toMs,
    gpuSeconds: sumOf(held),
    productiveGpuSeconds: sumOf(held.filter(({ spent }) => spent === 'productive')),
  };
}
