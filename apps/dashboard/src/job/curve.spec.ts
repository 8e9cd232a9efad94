import type { StepPoint } from '@coxswain/api-types';
import { columnsOf, epochStarts, withPoints } from './curve.ts';

function aPoint(epoch: number, step: number): StepPoint {
  return {
    epoch,
    step,
    loss: 5 - step / 100,
    tokens: 1024,
    tokensPerSecond: 1000,
    stepTimeMs: 10,
    gradNorm: null,
    at: '2026-01-01T00:00:00Z',
  };
}
const points = (epoch: number, from: number, to: number): StepPoint[] =>
  Array.from({ length: to - from + 1 }, (_, i) => aPoint(epoch, from + i));

describe('the curve of a job', () => {
  it('has one point per step, ascending, however they come', () => {
    const curve = withPoints(withPoints(new Map(), points(1, 3, 5)), points(1, 1, 4));
    expect(columnsOf(curve, (point) => point.epoch)).toEqual([
      [1, 2, 3, 4, 5],
      [1, 1, 1, 1, 1],
    ]);
  });

  it('takes the newest epoch where two overlap', () => {
    const curve = withPoints(withPoints(new Map(), points(1, 1, 8)), points(2, 5, 9));
    expect(columnsOf(curve, (point) => point.epoch)[1]).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 2]);
    expect(epochStarts(curve)).toEqual([{ epoch: 2, step: 5 }]);
  });

  it('forgets what an earlier epoch did beyond the restart', () => {
    const curve = withPoints(withPoints(new Map(), points(1, 1, 8)), points(2, 5, 5));
    expect(columnsOf(curve, (point) => point.step)[0]).toEqual([1, 2, 3, 4, 5]);
  });

  it('is not disturbed by a late point of an earlier epoch', () => {
    const curve = withPoints(withPoints(new Map(), points(2, 5, 9)), [aPoint(1, 6)]);
    expect(curve.get(6)?.epoch).toBe(2);
  });
});
