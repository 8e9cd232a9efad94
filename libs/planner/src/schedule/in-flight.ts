/** Peak number of activations of a rank, computed without a simulation. */
import { activationLimit, interleavedWarmUp } from './pass-order.ts';
import { assertScheduleShape, type ScheduleShape } from './schedule-input.ts';

/**
 * Most activations of one (virtual stage, micro-batch) that `rank` holds at a time; divide by `chunks` for micro-batches of a whole rank.
 * Exact for fused backwards and DualPipeV. Zero-bubble schedules may hold less than this, their limit, where times leave idle gaps that
 * weight passes fill earlier.
 *
 * 1F1B: pipeline - rank; interleaved on rank 0: chunks * pipeline * (1 + (pipeline - 1) / (pipeline * chunks)) (Narayanan et al., SC'21,
 * 2.2); other schedules: see `activationLimit`.
 */
export function peakInFlight(shape: ScheduleShape, rank: number): number {
  assertScheduleShape(shape);
  const { schedule, pipeline, chunks, microBatches } = shape;
  if (pipeline === 1) return chunks;
  const all = microBatches * chunks;
  switch (schedule) {
    case 'gpipe':
      return all;
    case '1f1b':
      return Math.min(all, pipeline - rank);
    case 'interleaved-1f1b':
      return Math.min(all, interleavedWarmUp(shape, rank) + 1);
    case 'dualpipe-v':
      return Math.min(all, 2 * pipeline + 1);
    case 'zb-h1':
    case 'zb-2p':
    case 'zbv':
    case 'v-half':
    case 'v-min':
      return Math.min(all, activationLimit(shape));
  }
}
