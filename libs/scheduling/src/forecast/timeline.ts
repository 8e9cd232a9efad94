import type { EndBasis } from '@coxswain/api-types';
import type { ForecastOfJob } from './forecast.ts';
import type { ForecastInput } from './forecast-input.ts';

/** Something that is expected to happen. End: a running job gives its GPUs back. Start: a waiting job gets its GPUs. */
export interface TimelineEvent {
  readonly kind: 'End' | 'Start';
  readonly uid: string;
  readonly atMs: number;
  readonly earliestMs: number;
  readonly latestMs: number | undefined;
  readonly gpus: number;
  /** null: nothing delays the start. */
  readonly restsOn: EndBasis | null;
  /** Whether nodes are held for the start. */
  readonly isPromised: boolean;
}

/** What is expected until then, soonest first; at the same moment ends before starts. */
export function timeline(
  { nowMs, running, waiting }: ForecastInput,
  forecasts: readonly ForecastOfJob[],
  untilMs: number,
): readonly TimelineEvent[] {
  const ends = running.map(({ uid, pods, end: { restsOn, ...end } }): TimelineEvent => {
    const gpus = pods.reduce((sum, pod) => sum + pod.gpus, 0);
    return { kind: 'End', uid, ...end, atMs: Math.max(nowMs, end.atMs), gpus, restsOn, isPromised: false };
  });
  const starts = forecasts.flatMap(({ uid, start }, index): TimelineEvent[] => {
    if (start === undefined) return [];
    const gpus = (waiting[index]?.parts ?? []).reduce((sum, part) => sum + part.gpus, 0);
    return [{ kind: 'Start', uid, ...start, gpus }];
  });
  return [...ends, ...starts]
    .filter(({ atMs }) => atMs <= untilMs)
    .sort((left, right) => left.atMs - right.atMs || compare(left.kind, right.kind) || compare(left.uid, right.uid));
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
