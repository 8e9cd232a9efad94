import type { StepPoint } from '@coxswain/api-types';
import { aStepPoint } from '@coxswain/api-types/testing';
import { columnsOf, epochStarts, rangeColumnsOf, withPoints, type Curve } from './curve.ts';

const points = (epoch: number, from: number, to: number, every = 1): StepPoint[] =>
  Array.from({ length: Math.floor((to - from) / every) + 1 }, (_, i) => aStepPoint({ epoch, step: from + i * every }));
/** A point that stands for every step from one to another; one of them has a loss of 9. */
const bucket = (epoch: number, step: number, lastStep: number): StepPoint =>
  aStepPoint({
    epoch,
    step,
    loss: 2,
    bucket: {
      lastStep,
      steps: lastStep - step + 1,
      loss: { min: 1, max: 9 },
      tokensPerSecond: null,
      stepTimeMs: { min: 10, max: 10 },
      gradNorm: null,
      learningRate: null,
    },
  });
const epochs = (curve: Curve): string =>
  columnsOf(curve, (point) => point.epoch)
    .map((column) => column.map((value) => value ?? '-').join(' '))
    .join(' | ');

describe('the curve of a job', () => {
  it.each<[string, readonly (readonly StepPoint[])[], string]>([
    ['is empty at first', [], ' | '],
    [
      'has one point per step, ascending, however they come',
      [points(1, 3, 5), points(1, 1, 4)],
      '1 2 3 4 5 | 1 1 1 1 1',
    ],
    ['grows at its end', [points(1, 1, 2), points(1, 3, 4), points(2, 5, 5)], '1 2 3 4 5 | 1 1 1 1 2'],
    ['takes the newest epoch where two overlap', [points(1, 1, 6), points(2, 4, 7)], '1 2 3 4 5 6 7 | 1 1 1 2 2 2 2'],
    [
      'forgets what an earlier epoch did beyond the restart',
      [points(1, 1, 8), points(2, 5, 5)],
      '1 2 3 4 5 | 1 1 1 1 2',
    ],
    [
      'forgets it, too, when the earlier epoch is read last',
      [points(2, 5, 6), points(1, 1, 4), points(1, 7, 9)],
      '1 2 3 4 5 6 | 1 1 1 1 2 2',
    ],
    ['is not disturbed by a late point of an earlier epoch', [points(2, 5, 7), points(1, 6, 6)], '5 6 7 | 2 2 2'],
    ['shows a hole where steps were not recorded', [points(1, 1, 2), points(1, 6, 7)], '1 2 3 6 7 | 1 1 - 1 1'],
    [
      'goes on after a point of several steps',
      [[bucket(1, 1, 9), bucket(1, 10, 14)], points(1, 15, 16)],
      '1 10 15 16 | 1 1 1 1',
    ],
    [
      'takes a point of several steps for those that came before it was read',
      [points(1, 8, 11), [bucket(1, 1, 10)]],
      '1 11 | 1 1',
    ],
    ['shows a hole behind a point of several steps', [[bucket(1, 1, 9)], points(1, 14, 15)], '1 10 14 15 | 1 - 1 1'],
    ['bridges a single lost step', [points(1, 1, 2), points(1, 4, 4)], '1 2 4 | 1 1 1'],
    ['takes the distance between reports for what it is', [points(1, 10, 40, 10)], '10 20 30 40 | 1 1 1 1'],
  ])('%s', (_sentence, batches, want) => {
    expect(epochs(batches.reduce<Curve>((curve, batch) => withPoints(curve, batch), new Map()))).toBe(want);
  });

  it('shows the least and the greatest of the steps of a point, and a step alone as both', () => {
    const curve = withPoints(new Map(), [bucket(1, 1, 9), aStepPoint({ step: 10, loss: 3 })]);
    expect(rangeColumnsOf(curve, 'loss')).toEqual([
      [1, 10],
      [2, 3],
      [1, 3],
      [9, 3],
    ]);
  });

  it.each<[string, readonly StepPoint[], readonly number[], readonly (number | null)[]]>([
    [
      'of steps is one line if every tenth step has one',
      points(1, 1, 30).map((point) =>
        point.step % 10 === 0 ? { ...point, loss: point.step } : { ...point, loss: null },
      ),
      [10, 20, 30],
      [10, 20, 30],
    ],
    [
      'of points of several steps is one line if every fifth point has one',
      [1, 11, 21, 31, 41, 51, 61].map((step) => ({ ...bucket(1, step, step + 9), loss: step % 50 === 11 ? 2 : null })),
      [11, 61],
      [2, 2],
    ],
    [
      'that is no number for a while has a hole there',
      points(1, 1, 9).map((point) => ({ ...point, loss: point.step > 2 && point.step < 8 ? null : 1 })),
      [1, 2, 3, 8, 9],
      [1, 1, null, 1, 1],
    ],
    ['that no step has is empty', points(1, 1, 3).map((point) => ({ ...point, loss: null })), [], []],
  ])('a loss %s', (_sentence, read, steps, losses) => {
    expect(rangeColumnsOf(withPoints(new Map(), read), 'loss').slice(0, 2)).toEqual([steps, losses]);
  });

  it('knows where each later epoch took over', () => {
    const curve = withPoints(withPoints(new Map(), points(1, 1, 8)), points(2, 5, 9));
    expect(epochStarts(curve)).toEqual([{ epoch: 2, step: 5 }]);
  });

  it('takes 200,000 points at once', () => {
    expect(withPoints(new Map(), points(1, 1, 200_000)).size).toBe(200_000);
  });
});
