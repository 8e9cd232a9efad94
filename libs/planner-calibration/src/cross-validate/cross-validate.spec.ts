import { readRows } from '../rows/index.ts';
import { plannedMemory } from '../testing/invented-predictor.ts';
import { csvOf } from '../testing/invented-rows.ts';
import type { TrainingRow } from '../fit/learn.ts';
import { crossValidate, withScalarPerSource } from './cross-validate.ts';

const AB = new Set(['A', 'B']);
const ROWS = readRows(
  csvOf([
    { id: 'one-1', iter_time_s: '1' },
    { id: 'one-2', iter_time_s: '3' },
    { id: 'two-1', iter_time_s: '10' },
    { id: 'two-2', tp: '' },
    { id: 'three-1', iter_time_s: '100', quality: 'C' },
  ]),
);

/** Predicts the mean of what it was taught. */
function meanOf(training: readonly TrainingRow[]) {
  const seconds = training.reduce((sum, { measuredS }) => sum + measuredS, 0) / training.length;
  return { stepTimeS: () => seconds, memory: plannedMemory };
}

describe('cross-validation', () => {
  it('predicts every row from the other sources only', () => {
    const taught: (readonly string[])[] = [];
    const { predicted, unpredicted } = crossValidate({
      rows: ROWS,
      qualities: AB,
      folds: 2,
      leaveOut: 'sources',
      learn: (training) => {
        taught.push(training.map(({ id }) => id));
        return meanOf(training);
      },
    });
    expect(taught).toEqual([['two-1'], ['one-1', 'one-2']]);
    expect(Object.fromEntries(predicted.map(({ row, time }) => [row.id, time?.predicted]))).toEqual({
      'one-1': 10,
      'one-2': 10,
      'two-1': 2,
    });
    expect(unpredicted.map(({ row, reason }) => [row.id, reason])).toEqual([['two-2', 'tp is not published']]);
  });

  it('with one scalar per source leaves no bias at its median', () => {
    const { predicted } = withScalarPerSource(
      crossValidate({ rows: ROWS, qualities: AB, folds: 2, leaveOut: 'sources', learn: meanOf }),
    );
    expect(predicted.find(({ row }) => row.id === 'two-1')?.time?.predicted).toBeCloseTo(10);
    const [low, high] = predicted.filter(({ row }) => row.id.startsWith('one')).map(({ time }) => time?.predicted ?? 0);
    expect(low).toBeCloseTo(Math.sqrt(3));
    expect(high).toBeCloseTo(Math.sqrt(3));
  });
});
