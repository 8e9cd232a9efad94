import { orderOf, type LayoutPlace } from './layout-order.ts';

const FIRST: LayoutPlace = { dense: 0, expert: 0, state: 0, pipeline: 0 };
/** The last place of each level but the first. */
const LAST = { expert: 511, state: 8191, pipeline: 511 };

describe('the order of layouts', () => {
  it.each<[string, LayoutPlace, LayoutPlace]>([
    ['pipelines of one choice of states', FIRST, { ...FIRST, pipeline: 1 }],
    ['the last pipeline, and the next choice of states', { ...FIRST, pipeline: LAST.pipeline }, { ...FIRST, state: 1 }],
    ['the last layout of an expert grid, and the next grid', { ...FIRST, ...LAST, expert: 0 }, { ...FIRST, expert: 1 }],
    ['the last layout of a mesh, and the next mesh', { ...LAST, dense: 7 }, { ...FIRST, dense: 8 }],
    ['meshes far down the list', { ...LAST, dense: 4_000_000 }, { ...FIRST, dense: 4_000_001 }],
  ])('numbers %s as the space lists them', (_what, before, after) => {
    expect(orderOf(before)).toBeLessThan(orderOf(after));
  });

  it.each<[string, Partial<LayoutPlace>]>([
    ['an expert grid', { expert: LAST.expert + 1 }],
    ['a choice of states', { state: LAST.state + 1 }],
    ['a pipeline', { pipeline: LAST.pipeline + 1 }],
    ['a mesh', { dense: 2 ** 22 }],
  ])('refuses %s that would take the number of another layout', (_what, over) => {
    expect(() => orderOf({ ...FIRST, ...over })).toThrow('beyond the places that can be numbered');
  });
});
