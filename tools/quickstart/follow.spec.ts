import type { StepPoint } from '@coxswain/api-types';
import { stepSentence, stepTimeSentence } from './follow.ts';

const point = (given: Partial<StepPoint>): StepPoint =>
  ({ step: 41, loss: 2.9136, tokensPerSecond: 5120.4, stepTimeMs: 200, ...given }) as StepPoint;

describe('what the quickstart says of a step', () => {
  it.each<[string, Partial<StepPoint>, string]>([
    ['tells loss, speed and time left', {}, 'step 41 of 160 · loss 2.914 · 5,120 tokens/s · 23.8 s left'],
    ['leaves out a loss that is not known', { loss: null }, 'step 41 of 160 · 5,120 tokens/s · 23.8 s left'],
    ['leaves out a speed that is not known', { tokensPerSecond: null }, 'step 41 of 160 · loss 2.914 · 23.8 s left'],
  ])('%s', (_, given, sentence) => {
    expect(stepSentence(point(given), 160)).toBe(sentence);
  });
});

describe('what the quickstart says of the time of a step', () => {
  it.each([
    [
      'the prediction, what was measured and how far off it was',
      { predictedMs: 118, measuredMs: 124, errorPct: -4.8 },
      '118 ms predicted before it ran, 124 ms measured (-4.8 %)',
    ],
    [
      'which way it was off',
      { predictedMs: 150, measuredMs: 100, errorPct: 50 },
      '150 ms predicted before it ran, 100 ms measured (+50.0 %)',
    ],
    [
      'that nothing was predicted',
      { predictedMs: null, measuredMs: 124, errorPct: null },
      'not predicted, 124 ms measured',
    ],
    [
      'that nothing was measured',
      { predictedMs: 118, measuredMs: null, errorPct: null },
      '118 ms predicted before it ran',
    ],
  ])('%s', (_, time, sentence) => {
    expect(stepTimeSentence({ epoch: 1, measuredSteps: 10, ...time })).toBe(sentence);
  });
});
