import type { GoodputMonth } from '@coxswain/api-types';
import type { Ledger } from './ledger.ts';

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
 * The GPU time of a job within `period`, with its standbys, from its first to its last second with GPUs there; undefined where it held none. Pods that a lost node keeps
 * (`lostNode`) are in no span, so they are not counted.
 */
export function heldWithin(
  { spans, standbys }: Pick<Ledger, 'spans' | 'standbys'>,
  period: Period,
): HeldTime | undefined {
  let [firstMs, lastMs, gpuMs, productiveMs] = [Infinity, -Infinity, 0, 0];
  const add = (held: Period & { readonly gpus: number }): number => {
    const fromMs = Math.max(held.fromMs, period.fromMs);
    const toMs = Math.min(held.toMs, period.toMs);
    if (held.gpus === 0 || toMs <= fromMs) return 0;
    [firstMs, lastMs] = [Math.min(firstMs, fromMs), Math.max(lastMs, toMs)];
    gpuMs += held.gpus * (toMs - fromMs);
    return held.gpus * (toMs - fromMs);
  };
  for (const span of spans) {
    const ms = add(span);
    if (span.spent === 'productive') productiveMs += ms;
  }
  for (const standby of standbys) add(standby);
  if (gpuMs === 0) return undefined;
  return { fromMs: firstMs, toMs: lastMs, gpuSeconds: gpuMs / 1000, productiveGpuSeconds: productiveMs / 1000 };
}

/** The GPU time of a job in each month of UTC in which it held GPUs, oldest first. */
export function heldByMonth(ledger: Pick<Ledger, 'spans' | 'standbys'>): readonly GoodputMonth[] {
  const held = ledger.spans.filter(({ gpus }) => gpus > 0);
  const [first, last] = [held[0], held.at(-1)];
  if (first === undefined || last === undefined) return [];
  const months: GoodputMonth[] = [];
  for (let month = textOf(first.fromMs).slice(0, 7); ;) {
    const period = monthOf(month);
    if (period === undefined || period.fromMs >= last.toMs) return months;
    const time = heldWithin(ledger, period);
    if (time !== undefined) {
      const { fromMs, toMs, gpuSeconds, productiveGpuSeconds } = time;
      months.push({ month, from: textOf(fromMs), to: textOf(toMs), gpuSeconds, productiveGpuSeconds });
    }
    month = textOf(period.toMs).slice(0, 7);
  }
}

/** What an answer of the API has of a month, such as `2030-01`; undefined: the job held no GPU then. */
export function heldInMonth(months: readonly GoodputMonth[], month: string): HeldTime | undefined {
  const found = months.find((one) => one.month === month);
  if (found === undefined) return undefined;
  const { from, to, gpuSeconds, productiveGpuSeconds } = found;
  return { fromMs: Date.parse(from), toMs: Date.parse(to), gpuSeconds, productiveGpuSeconds };
}

function textOf(ms: number): string {
  return new Date(ms).toISOString();
}
