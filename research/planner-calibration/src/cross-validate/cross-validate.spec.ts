import { readRows } from '../rows/index.ts';
import { plannedMemory } from '../testing/invented-predictor.ts';
import { csvOf } from '../testing/invented-rows.ts';
import type { TrainingRow } from '../fit/learn.ts';
import { crossValidate } from './cross-validate.ts';
import { withScalarPerSource } from './scalar-of-source.ts';

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

  it('predicts every row without the rest of its group', () => {
    const taught: (readonly string[])[] = [];
    crossValidate({
      rows: readRows(
        csvOf([
          { id: 'one-1', iter_time_s: '1' },
          { id: 'one-2', iter_time_s: '3' },
          { id: 'one-3', gpu: 'H100-SXM5-80GB', iter_time_s: '3' },
        ]),
      ),
      qualities: AB,
      folds: 2,
      leaveOut: 'groups',
      learn: (training) => {
        taught.push(training.map(({ id }) => id));
        return meanOf(training);
      },
    });
    expect(taught).toEqual([['one-3'], ['one-1', 'one-2']]);
  });
});

describe('one scalar per source', () => {
  const seconds = [1, 1, 1, 1, 2];
  const rows = readRows(
    csvOf([
      ...seconds.map((iter_time_s, at) => ({ id: `slow-${at}`, iter_time_s: String(10 * iter_time_s) })),
      { id: 'few-1', iter_time_s: '1' },
      { id: 'few-2', iter_time_s: '1' },
      { id: 'few-3', iter_time_s: '1' },
    ]),
  );
  const scored = crossValidate({ rows, qualities: AB, folds: 2, leaveOut: 'sources', learn: meanOf });
  const { predicted } = withScalarPerSource(scored);

  it('mends what all rows of a source have in common', () => {
    const slow = predicted.filter(({ row }) => row.id.startsWith('slow'));
    expect(slow.map(({ time }) => time?.predicted)).toEqual(seconds.map(() => expect.closeTo(10, 9)));
  });

  it('is not taken from the row that it scales: an odd one stays off', () => {
    const odd = predicted.find(({ row }) => row.id === 'slow-4');
    expect(odd?.time).toEqual({ predicted: expect.closeTo(10, 9), measured: 20 });
  });

  it('needs three others, so that sources with fewer rows are left out', () => {
    expect(predicted.filter(({ row }) => row.id.startsWith('few'))).toEqual([]);
  });
});
