import { readRows } from '../rows/index.ts';
import { plannedMemory } from '../testing/invented-predictor.ts';
import { csvOf } from '../testing/invented-rows.ts';
import { pairedError } from './paired-error.ts';
import { scoreRows } from './score-rows.ts';

/** Every layout is predicted to take a second, more with each sample of a micro-batch. */
const PREDICTOR = {
  stepTimeS: ({ candidate }: { readonly candidate: { readonly microBatchSize: number } }) =>
    1 + candidate.microBatchSize / 100,
  memory: plannedMemory,
};

const of = (rows: readonly Readonly<Record<string, string>>[]): ReturnType<typeof pairedError> =>
  pairedError(scoreRows(readRows(csvOf(rows)), PREDICTOR, new Set(['A'])).predicted);

const one = { mbs: '1', iter_time_s: '1.01' };
const two = { mbs: '2', iter_time_s: '1.02' };

describe('the error of the difference between two layouts of a job', () => {
  it.each([
    [
      'is none where all layouts are off alike',
      [one, two].map((row) => ({ ...row, iter_time_s: `${2 * Number(row.iter_time_s)}` })),
      0,
    ],
    ['is that of their ratio', [one, { ...two, iter_time_s: '1.0404' }], 2],
    [
      'counts a layout that was measured twice with its mean',
      [one, { ...two, iter_time_s: '1.0' }, { ...two, iter_time_s: '1.0808' }],
      2,
    ],
    [
      'counts jobs alike, however many layouts they have',
      [
        ...[1, 2, 4, 8].map((mbs) => ({ mbs: `${mbs}`, iter_time_s: `${1 + mbs / 100}` })),
        ...[one, { ...two, iter_time_s: '1.0404' }].map((row) => ({ ...row, gbs: '128' })),
      ],
      1,
    ],
    [
      'counts sources alike, however many jobs they have',
      [
        ...['64', '128', '256'].flatMap((gbs) => [one, two].map((row) => ({ ...row, gbs }))),
        ...[one, { ...two, iter_time_s: '1.0404' }].map((row, at) => ({ ...row, id: `other-${at}` })),
      ],
      1,
    ],
  ])('%s', (_sentence, rows, medianPct) => {
    expect(of(rows).medianPct).toBeCloseTo(medianPct, 1);
  });

  it.each([
    ['jobs of one layout', [one, { ...one, gbs: '128' }]],
    ['layouts that are predicted to be far apart', [one, { mbs: '16', iter_time_s: '9' }]],
    ['nothing', []],
  ])('is not known of %s', (_sentence, rows) => {
    expect(of(rows)).toEqual({ jobs: 0, pairs: 0, medianPct: null });
  });
});
