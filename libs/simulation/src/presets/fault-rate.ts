import type { FailurePreset } from './failures.ts';

/** Faults of a preset per node and day, whatever they strike. */
export function faultsPerNodeDay({ causes, nodes, days }: FailurePreset): number {
  return causes.reduce((sum, { count }) => sum + count, 0) / (nodes * days);
}
