import { aPlan, aPrediction } from '@coxswain/planner/testing';
import { figuresOf, toRunnerUp } from './plan-figures.ts';

const gpu = { gpu: 'h100' };

describe('what a status says of a prediction', () => {
  it.each([
    ['a step in milliseconds', { stepTimeS: 1.25 }, { predictedStepMs: 1_250 }],
    [
      'where the step will lie',
      { interval: { lowS: 1.15, highS: 1.42345, coveragePct: 80, standsOn: 'chip' as const, rows: 31 } },
      { predictedStepLowMs: 1_150, predictedStepHighMs: 1_423 },
    ],
    ['no more digits than a prediction has', { stepTimeS: 0.123456789 }, { predictedStepMs: 123.5 }],
    ['a very short step', { stepTimeS: 0.000012345 }, { predictedStepMs: 0.01235 }],
    ['memory in whole bytes', { peakGib: 1.5 }, { predictedPeakBytes: 1_610_612_736 }],
    ['memory that is no whole number of bytes', { peakGib: 1 / 3 }, { predictedPeakBytes: 357_913_941 }],
    ['whether it fits', { verdict: 'doesNotFit' as const }, { verdict: 'doesNotFit', gpuType: 'h100' }],
  ])('%s', (_sentence, prediction, want) => {
    expect(figuresOf({ ...aPrediction(), ...prediction }, gpu)).toMatchObject(want);
  });

  const error = { ...aPrediction().error, medianAbsPct: 4.04, p90AbsPct: 12.5, n: 31, basis: 'published dense runs' };

  it.each([
    [
      'how far such predictions were off',
      error,
      "Expected error: 4.0 % (median), 12.5 % (9 of 10). It was measured on 31 runs that the planner's constants were not fitted to: published dense runs.",
    ],
    [
      'that nobody measured such a thing',
      { ...error, n: 0 },
      'The expected error is unknown: no published measurement resembles this job.',
    ],
  ])('says %s', (_sentence, one, want) => {
    expect(figuresOf({ ...aPrediction(), error: one }, gpu).errorStatement).toBe(want);
  });

  it('keeps to the length that the field has', () => {
    const long = { ...error, basis: 'x'.repeat(5_000) };
    expect(figuresOf({ ...aPrediction(), error: long }, gpu).errorStatement).toHaveLength(1_024);
  });
});

describe('a runner-up', () => {
  it('is told by every degree and its figures alone', () => {
    const layout = {
      tensorParallelDegree: 2,
      pipelineParallelDegree: 1,
      dataParallelDegree: 4,
      contextParallelDegree: 2,
    };
    const prediction = { ...aPrediction(), stepTimeS: 2, peakGib: 1 };
    expect(toRunnerUp({ ...aPlan(), layout, microBatchSize: 4, prediction })).toEqual({
      layout: 'tp2 x cp2 x dp4',
      microBatchSize: 4,
      predictedStepMs: 2_000,
      predictedPeakBytes: 1_073_741_824,
    });
  });
});
