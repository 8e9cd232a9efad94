import type { PinnedAxes } from '../contract.ts';
import { aSpace } from '../testing/runs.ts';
import { isSearchedGrid } from './searched-grids.ts';

describe('a division of the GPUs', () => {
  it.each<[string, PinnedAxes, number, boolean]>([
    ['without a pipeline is open where nobody says anything of one', {}, 1, true],
    ['with the plain schedule as well', { schedule: '1f1b' }, 1, true],
    ['but not where another schedule is pinned', { schedule: 'zbv' }, 1, false],
    ['nor where chunks are', { chunks: 3 }, 1, false],
    ['which a pipeline has', { schedule: 'zbv', chunks: 2 }, 2, true],
  ])('%s', (_, pinned, pipeline, want) => {
    expect(isSearchedGrid(aSpace({ pinned }), { tensor: 1, context: 1, pipeline, data: 8 / pipeline })).toBe(want);
  });

  it.each<
    [
      string,
      Partial<Parameters<typeof isSearchedGrid>[0]>,
      { context: number; data: number; pipeline?: number },
      boolean,
    ]
  >([
    ['leaves a context rank 1,024 tokens of a sample', {}, { context: 4, data: 2 }, true],
    ['but no fewer', {}, { context: 8, data: 1 }, false],
    [
      'except where there are not samples enough for as many ranks',
      { globalBatchSize: 4 },
      { context: 8, data: 1 },
      true,
    ],
    ['or not a whole number for each', { globalBatchSize: 12 }, { context: 8, data: 1 }, true],
    ['or not enough to fill the pipeline', {}, { context: 8, data: 1, pipeline: 4 }, true],
    [
      'or not whole micro-batches of the size that is asked for',
      { pinned: { microBatchSize: 4 } },
      { context: 8, data: 1 },
      true,
    ],
    ['which others may be', { pinned: { microBatchSize: 2 } }, { context: 8, data: 1 }, false],
    ['or where it is asked for', { pinned: { context: 8 } }, { context: 8, data: 1 }, true],
    ['or follows from the data that are', { pinned: { data: 1 } }, { context: 8, data: 1 }, true],
  ])('%s', (_, overrides, { context, data, pipeline = 1 }, want) => {
    const space = aSpace({ sequenceLength: 4096, globalBatchSize: 16, ...overrides });
    expect(isSearchedGrid(space, { tensor: 1, context, pipeline, data })).toBe(want);
  });
});
