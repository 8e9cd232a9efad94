import type { QueueStart } from '@coxswain/api-types';

/** Where a time with its interval is on a bar that covers the next day, in percent of its width. */
export interface DayBar {
  readonly left: number;
  readonly width: number;
  readonly mark: number;
  /** Whether the interval goes on after the day, or has no end. */
  readonly isOpen: boolean;
}

/** The narrowest interval that can be seen. */
const LEAST_WIDTH = 0.6;

/** The bar of that interval between `from` and `until`. */
export function dayBar(
  { at, earliest, latest }: Pick<QueueStart, 'at' | 'earliest' | 'latest'>,
  day: { readonly from: string; readonly until: string },
): DayBar {
  const fromMs = Date.parse(day.from);
  const percent = (time: string): number =>
    Math.min(100, Math.max(0, (100 * (Date.parse(time) - fromMs)) / (Date.parse(day.until) - fromMs)));
  const isOpen = latest === null || Date.parse(latest) > Date.parse(day.until);
  const left = Math.min(percent(earliest), 100 - LEAST_WIDTH);
  const end = latest === null ? 100 : percent(latest);
  return { left, width: Math.max(LEAST_WIDTH, end - left), mark: percent(at), isOpen };
}

/** Hours of the day that have a line, as offsets in percent and the time of day there. */
export function dayHours(day: { readonly from: string; readonly until: string }): readonly {
  readonly left: number;
  readonly at: string;
}[] {
  const fromMs = Date.parse(day.from);
  const wholeMs = Date.parse(day.until) - fromMs;
  return [0, 6, 12, 18].map((hours) => ({
    left: (100 * hours * 3_600_000) / wholeMs,
    at: new Date(fromMs + hours * 3_600_000).toISOString(),
  }));
}
