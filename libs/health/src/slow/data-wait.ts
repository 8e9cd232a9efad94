/** Who waits for data: few ranks, then their host is at fault; most of those that load any, then what they share. */
import type { HealthSettings } from '../settings.ts';
import type { StepWindow } from './step-window.ts';

export interface DataWait {
  readonly waiting: readonly number[];
  /** Ranks that load data themselves: in many engines one of each tensor-parallel group does. */
  readonly loading: number;
  /** neither: too many for one host's fault, too few for that of what all share. */
  readonly where: 'host' | 'shared' | 'neither';
}

export function dataWait(
  { ranks, dataMs, stepMs }: StepWindow,
  { data }: HealthSettings,
  nodeOf: (rank: number) => string | undefined,
): DataWait {
  const waiting: number[] = [];
  let loading = 0;
  for (let rank = 0; rank < ranks; rank += 1) {
    const waited = dataMs[rank] ?? 0;
    if (waited === 0) continue;
    loading += 1;
    if (waited > data.waitShare * (stepMs[rank] ?? 0)) waiting.push(rank);
  }
  const hosts = new Set(waiting.map(nodeOf));
  const isOneHost = hosts.size === 1 && !hosts.has(undefined);
  const all = new Set(Array.from({ length: ranks }, (_, rank) => nodeOf(rank)));
  // On one host nothing is shared that is not its own; one host of a small job may be more than the share of a host in a large one.
  if (waiting.length > data.sharedShare * loading && !(isOneHost && all.size > 1)) {
    return { waiting, loading, where: 'shared' };
  }
  const isHost = waiting.length < data.hostShare * loading || isOneHost;
  return { waiting, loading, where: isHost ? 'host' : 'neither' };
}
