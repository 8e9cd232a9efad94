import { anEvenSchedule } from '../testing/schedule-inputs.ts';
import { peakInFlight } from './in-flight.ts';
import { makespanOf } from './makespan.ts';
import { simulateSchedule } from './simulate.ts';
import { withInterlacedVocabulary, withShardedVocabulary, type VocabularyWork } from './vocabulary-passes.ts';

const layers = anEvenSchedule({ schedule: '1f1b', pipeline: 8, chunks: 1, microBatches: 64 });
const work: VocabularyWork = { forwardS: 1.2, backwardInputS: 1.2, backwardWeightS: 1.2, synchronisationS: 0.05 };

const onLastStage = (() => {
  const forwardS = Float64Array.from(layers.forwardS);
  const backwardInputS = Float64Array.from(layers.backwardInputS);
  const backwardWeightS = Float64Array.from(layers.backwardWeightS);
  forwardS[7] = 1 + work.forwardS;
  backwardInputS[7] = 1 + work.backwardInputS;
  backwardWeightS[7] = 1 + work.backwardWeightS;
  return { ...layers, forwardS, backwardInputS, backwardWeightS };
})();

describe('a vocabulary spread over the pipeline', () => {
  it.each([
    ['sharded with one synchronisation', 9, withShardedVocabulary(layers, work, 1)],
    ['sharded with two synchronisations', 10, withShardedVocabulary(layers, work, 2)],
    ['interlaced', 12, withInterlacedVocabulary(layers, work)],
  ] as const)('%s holds %d micro-batches on the first of 8 ranks', (_, held, input) => {
    expect(peakInFlight(input, 0)).toBe(held);
    expect(simulateSchedule(input).peakInFlight[0]).toBe(held);
  });

  it('takes away the imbalance of an output layer on the last stage', () => {
    const balancedS = 64 * 3 * 1.15;
    expect(makespanOf(onLastStage)).toBeGreaterThan(64 * 3 * 2.2);
    expect(makespanOf(withShardedVocabulary(layers, work, 1))).toBeLessThan(1.15 * balancedS);
  });

  it('hides the synchronisations of a sharded vocabulary, but not those of an interlaced one', () => {
    const free = { ...work, synchronisationS: 0 };
    const sharded = (of: VocabularyWork) => makespanOf(withShardedVocabulary(layers, of, 2));
    const interlaced = (of: VocabularyWork) => makespanOf(withInterlacedVocabulary(layers, of));
    expect(sharded(work) - sharded(free)).toBeLessThan(4 * work.synchronisationS);
    expect(interlaced(work) - interlaced(free)).toBeGreaterThan(2 * 64 * work.synchronisationS - 1e-9);
  });

  it('does the same work in all', () => {
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    const { busyS } = simulateSchedule(withShardedVocabulary(layers, work, 2));
    expect(sum(busyS)).toBeCloseTo(sum(simulateSchedule(onLastStage).busyS), 6);
  });
});
