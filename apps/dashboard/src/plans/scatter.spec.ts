import type { MeasuredPrediction } from '@coxswain/api-types';
import { scatterOf } from './scatter.ts';

const axis = { from: 0, to: 100 };
const item = (measuredMs: number, predictedMs: number): MeasuredPrediction =>
  ({ measuredMs, predictedMs }) as MeasuredPrediction;

describe('predictions against measurements', () => {
  it('lie on the diagonal when they are equal, and inside the picture', () => {
    const { points } = scatterOf([item(10, 10), item(1000, 1000), item(50, 100)], axis);
    expect(points[0]?.x).toBe(points[0]?.y);
    for (const { x, y } of points) for (const at of [x, y]) expect(at).toBeGreaterThanOrEqual(0);
    for (const { x, y } of points) for (const at of [x, y]) expect(at).toBeLessThanOrEqual(100);
  });

  it.each([
    ['powers of ten', item(5, 2000), ['10 ms', '100 ms', '1 s']],
    ['more marks where they span less', item(30, 900), ['50 ms', '100 ms', '200 ms', '500 ms', '1 s']],
  ] as const)('have an axis with %s', (_what, one, want) => {
    expect(scatterOf([one], axis).ticks.map(({ label }) => label)).toEqual(want);
  });

  it('are none where there are none, and where one is no time', () => {
    expect(scatterOf([], axis).points).toEqual([]);
    expect(scatterOf([item(0, 10)], axis).points).toEqual([]);
  });
});
