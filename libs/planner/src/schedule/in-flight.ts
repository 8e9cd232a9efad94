/** How many activations does a rank hold at its worst moment? */
import { interleavingGroup } from './fused-makespan.ts';
import { assertScheduleShape, type ScheduleShape } from './schedule-input.ts';

/**
 * Most activations of one (virtual stage, micro-batch) that `rank` holds at a time. Divide by `chunks` for micro-batches of the whole rank.
 *
 * 1F1B: min(microBatches, pipeline - rank); interleaved on rank 0: chunks * pipeline * (1 + (pipeline - 1) / (pipeline * chunks))
 * (Narayanan et al., SC'21, 2.2).
 */
export function peakInFlight(shape: ScheduleShape, rank: number): number {
  assertScheduleShape(shape);
  const { schedule, pipeline, chunks, microBatches } = shape;
  if (pipeline === 1) return chunks;
  const below = pipeline - 1 - rank;
  if (schedule === 'gpipe') return microBatches;
  if (schedule === '1f1b') return Math.min(microBatches, below + 1);
  return Math.min(microBatches * chunks, 2 * below + (chunks - 1) * interleavingGroup(shape) + 1);
}
