/** Who waits for data: few ranks, then their host is at fault; most of them, then what they share. */
import type { HealthSettings } from '../settings.ts';
import type { StepWindow } from './step-window.ts';

export interface DataWait {
  readonly waiting: readonly number[];
  /** neither: too many for one host's fault, too few for that of what all share. */
  readonly where: 'host' | 'shared' | 'neither';
}

export function dataWait(
  { ranks, dataMs, stepMs }: StepWindow,
  { data }: HealthSettings,
  nodeOf: (rank: number) => string | undefined,
): DataWait {
  const waiting: number[] = [];
  let told = 0;
  for (let rank = 0; rank < ranks; rank += 1) {
    const step = stepMs[rank] ?? 0;
    if (step === 0) continue;
    told += 1;
    if ((dataMs[rank] ?? 0) > data.waitShare * step) waiting.push(rank);
  }
  if (waiting.length > data.sharedShare * told) return { waiting, where: 'shared' };
  // One host of a small job may be more than the share of a host in a large one.
  const hosts = new Set(waiting.map(nodeOf));
  const isHost = waiting.length < data.hostShare * told || (hosts.size === 1 && !hosts.has(undefined));
  return { waiting, where: isHost ? 'host' : 'neither' };
}
