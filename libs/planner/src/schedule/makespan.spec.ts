import fc from 'fast-check';
import { interleavedMakespan, newScheduleScratch, oneForwardOneBackwardMakespan } from './fused-makespan.ts';
import { peakInFlight } from './in-flight.ts';
import { makespanOf } from './makespan.ts';
import type { ScheduleInput, ScheduleShape } from './schedule-input.ts';

const times = (length: number, valueS: number) => new Float64Array(length).fill(valueS);

const even = (shape: ScheduleShape, changes: Partial<ScheduleInput> = {}): ScheduleInput => {
  const stages = shape.pipeline * shape.chunks;
  return {
    ...shape,
    forwardS: times(stages, 1 / shape.chunks),
    backwardInputS: times(stages, 1 / shape.chunks),
    backwardWeightS: times(stages, 1 / shape.chunks),
    forwardHopS: times(stages, 0),
    backwardHopS: times(stages, 0),
    p2p: 'overlapped',
    ...changes,
  };
};

const bubbleOf = (input: ScheduleInput) => makespanOf(input) / (3 * input.microBatches) - 1;

describe('makespanOf', () => {
  it.each([
    ['1f1b', 1, 0.1094],
    ['interleaved-1f1b', 2, 0.0547],
  ] as const)(
    '%s with %d chunks on 8 ranks idles %d of the ideal time for 64 micro-batches',
    (schedule, chunks, share) => {
      expect(bubbleOf(even({ schedule, pipeline: 8, chunks, microBatches: 64 }))).toBeCloseTo(share, 4);
    },
  );

  it.each([
    ['gpipe', 4, 8],
    ['1f1b', 4, 8],
    ['1f1b', 8, 3],
    ['gpipe', 8, 1],
  ] as const)('%s on %d ranks takes (m + p - 1)(f + b) for %d micro-batches', (schedule, pipeline, microBatches) => {
    expect(makespanOf(even({ schedule, pipeline, chunks: 1, microBatches }))).toBeCloseTo(
      3 * (microBatches + pipeline - 1),
    );
  });

  it('without a pipeline adds up the passes of all chunks', () => {
    expect(makespanOf(even({ schedule: 'interleaved-1f1b', pipeline: 1, chunks: 4, microBatches: 5 }))).toBeCloseTo(15);
  });

  const inputs = fc
    .record({
      pipeline: fc.integer({ min: 2, max: 9 }),
      chunks: fc.integer({ min: 1, max: 4 }),
      microBatches: fc.integer({ min: 1, max: 70 }),
    })
    .chain((shape) => {
      const stages = shape.pipeline * shape.chunks;
      const some = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: stages, maxLength: stages });
      return fc.record({
        schedule: fc.constant('interleaved-1f1b' as const),
        pipeline: fc.constant(shape.pipeline),
        chunks: fc.constant(shape.chunks),
        microBatches: fc.constant(shape.microBatches),
        groupSize: fc.integer({ min: 1, max: 16 }),
        forwardS: some.map((values) => Float64Array.from(values)),
        backwardInputS: some.map((values) => Float64Array.from(values)),
        backwardWeightS: some.map((values) => Float64Array.from(values)),
        forwardHopS: some.map((values) => Float64Array.from(values, (value) => value / 16)),
        backwardHopS: some.map((values) => Float64Array.from(values, (value) => value / 16)),
        p2p: fc.constantFrom('blocking' as const, 'overlapped' as const),
      });
    });

  it('skipping whole periods changes nothing', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const scratch = newScheduleScratch();
        expect(interleavedMakespan(input, scratch)).toBeCloseTo(interleavedMakespan(input, scratch, false), 6);
        expect(oneForwardOneBackwardMakespan(input, scratch)).toBeCloseTo(
          oneForwardOneBackwardMakespan(input, scratch, false),
          6,
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe('peakInFlight', () => {
  it.each([
    ['gpipe', 1, 0, 16],
    ['1f1b', 1, 0, 8],
    ['1f1b', 1, 3, 5],
    ['interleaved-1f1b', 2, 0, 8 * (1 + 7 / 16) * 2],
  ] as const)('%s with %d chunks holds on rank %d of 8 at most %d activations', (schedule, chunks, rank, held) => {
    expect(peakInFlight({ schedule, pipeline: 8, chunks, microBatches: 16 }, rank)).toBe(held);
  });
});
