import type { PinnedAxes } from '../contract.ts';
import { aSpace } from '../testing/runs.ts';
import { isWantedGrid } from './wanted-grids.ts';

describe('a division of the GPUs', () => {
  it.each<[string, PinnedAxes, number, boolean]>([
    ['without a pipeline is open where nobody says anything of one', {}, 1, true],
    ['with the plain schedule as well', { schedule: '1f1b' }, 1, true],
    ['but not where another schedule is pinned', { schedule: 'zbv' }, 1, false],
    ['nor where chunks are', { chunks: 3 }, 1, false],
    ['which a pipeline has', { schedule: 'zbv', chunks: 2 }, 2, true],
  ])('%s', (_, pinned, pipeline, want) => {
    expect(isWantedGrid(aSpace({ pinned }), { tensor: 1, pipeline, data: 8 / pipeline })).toBe(want);
  });
});
