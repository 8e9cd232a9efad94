/** Pipeline schedules for tests: even ones by hand, arbitrary ones by fast-check. */
import fc from 'fast-check';
import { SCHEDULES, type Schedule } from '../facts.ts';
import type { ScheduleInput, ScheduleShape } from '../schedule/schedule-input.ts';
import { isVShaped } from '../stages.ts';

/** Chunks that a schedule runs with on more than one rank. */
export function usualChunks(schedule: Schedule): number {
  return isVShaped(schedule) || schedule === 'interleaved-1f1b' ? 2 : 1;
}

/** Every rank spends `passS` on each kind of pass of a micro-batch, over all its chunks; messages take no time. */
export function anEvenSchedule(shape: ScheduleShape, changes: Partial<ScheduleInput> = {}): ScheduleInput {
  return { ...aScheduleOf(shape, { forwardS: 1, backwardInputS: 1, backwardWeightS: 1, hopS: 0 }), ...changes };
}

/** A schedule whose ranks all spend the given times per micro-batch. */
export function aScheduleOf(
  shape: ScheduleShape,
  profile: { forwardS: number; backwardInputS: number; backwardWeightS: number; hopS: number },
): ScheduleInput {
  const each = (valueS: number) => new Float64Array(shape.pipeline * shape.chunks).fill(valueS);
  return {
    ...shape,
    forwardS: each(profile.forwardS / shape.chunks),
    backwardInputS: each(profile.backwardInputS / shape.chunks),
    backwardWeightS: each(profile.backwardWeightS / shape.chunks),
    forwardHopS: each(profile.hopS),
    backwardHopS: each(profile.hopS),
    p2p: 'overlapped',
  };
}

/** Idle time as a share of the computation of one rank. */
export function bubbleOver(computationS: number, makespanS: number): number {
  return makespanS / computationS - 1;
}

const shapes = fc
  .record({
    schedule: fc.constantFrom(...SCHEDULES),
    pipeline: fc.integer({ min: 1, max: 9 }),
    interleavedChunks: fc.integer({ min: 1, max: 4 }),
    microBatches: fc.integer({ min: 1, max: 60 }),
  })
  .map(({ interleavedChunks, ...shape }) => ({
    ...shape,
    chunks: shape.schedule === 'interleaved-1f1b' ? interleavedChunks : usualChunks(shape.schedule),
  }));

/** Uneven stages and links of every schedule, including fewer micro-batches than ranks and groups that do not divide. */
export const scheduleInputs: fc.Arbitrary<ScheduleInput> = shapes.chain((shape) => {
  const stages = shape.pipeline * shape.chunks;
  const times = (max: number) =>
    fc
      .array(fc.integer({ min: 0, max }), { minLength: stages, maxLength: stages })
      .map((ticks) => Float64Array.from(ticks, (tick) => tick / 8));
  return fc.record({
    schedule: fc.constant(shape.schedule),
    pipeline: fc.constant(shape.pipeline),
    chunks: fc.constant(shape.chunks),
    microBatches: fc.constant(shape.microBatches),
    forwardS: times(80),
    backwardInputS: times(80),
    backwardWeightS: times(80),
    forwardHopS: fc.oneof(times(8), times(400)),
    backwardHopS: fc.oneof(times(8), times(400)),
    p2p: fc.constantFrom('blocking' as const, 'overlapped' as const),
    weightShare: fc.constantFrom(0, 0.375, 1),
  });
});
