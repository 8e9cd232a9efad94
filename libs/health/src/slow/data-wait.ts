/** Which ranks wait for data? If few ranks wait, their host is at fault; if most ranks that load data wait, their shared storage. */
import type { HealthSettings } from '../settings.ts';
import type { StepWindow } from './step-window.ts';

/** The ranks that wait for data, and where the cause is. */
export interface DataWait {
  readonly waiting: readonly number[];
  /** Ranks that load data; in many engines one of each tensor-parallel group. */
  readonly loading: number;
  /** neither: too many ranks for one host, too few for shared storage. */
  readonly where: 'host' | 'shared' | 'neither';
}

/** Evaluates the waits for data of a window. */
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
  // One host shares storage with itself alone; a single host of a small job may exceed the share of a host in a large job.
  if (waiting.length > data.sharedShare * loading && !(isOneHost && all.size > 1)) {
    return { waiting, loading, where: 'shared' };
  }
  const isHost = waiting.length < data.hostShare * loading || isOneHost;
  return { waiting, loading, where: isHost ? 'host' : 'neither' };
}
