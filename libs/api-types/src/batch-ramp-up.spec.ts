import { type GrowingBatch, isWholeRampUp, samplesOfSteps, stepsOfSamples } from './batch-ramp-up.ts';

/** 4 and 8 samples for 48 samples each, then 12. */
const GROWING: GrowingBatch = { globalBatchSize: 12, batchRampUp: { startSize: 4, increment: 4, samples: 96 } };

/** As RampupBatchsizeNumMicroBatchesCalculator of Megatron-LM counts (megatron/core/num_microbatches_calculator.py), step by step. */
function stepByStep({ globalBatchSize, batchRampUp }: GrowingBatch, steps: number): number {
  const { startSize = globalBatchSize, increment = 1, samples = 0 } = batchRampUp ?? {};
  const each = samples / ((globalBatchSize - startSize) / increment);
  let used = 0;
  for (let step = 0; step < steps; step++)
    used +=
      used > samples || batchRampUp === undefined ? globalBatchSize : startSize + Math.floor(used / each) * increment;
  return used;
}

describe('a batch that grows', () => {
  it.each<[string, GrowingBatch, number, number]>([
    ['is the first size at first', GROWING, 12, 48],
    ['then the next', GROWING, 18, 96],
    ['then the full one', GROWING, 20, 120],
    ['may end before it is full', GROWING, 13, 56],
    ['is constant without a ramp-up', { globalBatchSize: 12 }, 5, 60],
  ])('%s', (_sentence, batch, steps, samples) => {
    expect([samplesOfSteps(batch, steps), stepsOfSamples(batch, samples)]).toEqual([samples, steps]);
  });

  it.each([
    [16, 4, 4, 100],
    [4096, 2048, 2048, 1_072_16],
    [512, 32, 32, 7_777],
    [100, 1, 33, 50],
  ])(
    'to %i from %i by %i over %i samples is counted as Megatron-LM counts it',
    (globalBatchSize, startSize, increment, samples) => {
      const batch = { globalBatchSize, batchRampUp: { startSize, increment, samples } };
      for (const steps of [0, 1, 2, 7, 30, 100, 400])
        expect(samplesOfSteps(batch, steps)).toBe(stepByStep(batch, steps));
    },
  );

  it.each<[string, GrowingBatch, boolean]>([
    ['reaches its size', GROWING, true],
    ['leaps over it', { ...GROWING, globalBatchSize: 14 }, false],
    ['is at it already', { ...GROWING, globalBatchSize: 4 }, false],
  ])('%s: whole is %s', (_sentence, batch, want) => {
    expect(isWholeRampUp(batch)).toBe(want);
  });
});
