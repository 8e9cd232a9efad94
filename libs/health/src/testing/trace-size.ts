import type { ParallelLayout } from '@coxswain/layout';

export interface TraceSize {
  readonly layout: ParallelLayout;
  readonly microBatches: number;
  readonly ranksPerNode: number;
  readonly durationMs: number;
  readonly onsetMs: number;
}
