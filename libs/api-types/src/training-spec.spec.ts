import { stepsOf } from './training-spec.ts';

const model = { sequenceLength: 100 };
const globalBatchSize = 10;

describe('the steps of a job', () => {
  it.each<[string, Parameters<typeof stepsOf>[0], number | undefined]>([
    ['are as many as it says', { model, training: { steps: 7, globalBatchSize } }, 7],
    ['need no model where it says them', { training: { steps: 7, globalBatchSize } }, 7],
    ['are as many as see its tokens', { model, training: { tokens: 5_000, globalBatchSize } }, 5],
    ['are one more for what is left of them', { model, training: { tokens: 5_001, globalBatchSize } }, 6],
    [
      'are more where the batch begins small',
      { model, training: { tokens: 5_000, globalBatchSize, batchRampUp: { startSize: 5, increment: 5, samples: 20 } } },
      7,
    ],
    ['are at least one', { model, training: { tokens: 1, globalBatchSize } }, 1],
    ['are not known without a model', { training: { tokens: 5_000, globalBatchSize } }, undefined],
    ['are not known without training', { model }, undefined],
  ])('%s', (_sentence, job, want) => {
    expect(stepsOf(job)).toBe(want);
  });
});
