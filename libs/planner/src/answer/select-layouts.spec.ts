import type { CandidateLayout } from '../facts.ts';
import { candidateOfMesh } from '../space/search-space.ts';
import type { MeasuredLayout } from '../search/kept-layouts.ts';
import { selectLayouts } from './select-layouts.ts';

const CANDIDATE = candidateOfMesh({
  ...{ tensor: 4, context: 1, pipeline: 4, data: 4, microBatchSize: 1 },
  ...{ contextAlgorithm: 'ring', rankOrder: 'tp-cp-dp-pp', expert: 1, expertTensor: 1 },
});
type LayoutFigures = Partial<Pick<MeasuredLayout, 'stepTimeS' | 'peakBytes' | 'gpus'>> & { readonly order: number };
const layout = ({ order, ...of }: LayoutFigures, change: Partial<CandidateLayout> = {}): MeasuredLayout => ({
  ...{ candidate: { ...CANDIDATE, ...change }, gpus: 64, stepTimeS: 10, peakBytes: 60e9, order },
  ...of,
});
const selectedOrders = (
  best: readonly MeasuredLayout[],
  over: Partial<Parameters<typeof selectLayouts>[0]> = {},
  top = 3,
) =>
  selectLayouts({ best, front: [], simplest: undefined, ...over }, { objective: 'time', top }).map(
    ({ order }) => order,
  );

const FASTEST = layout({ order: 1 });
/** Fill up, where nothing else is left. */
const OTHERS = [
  layout({ order: 8, stepTimeS: 10.4, peakBytes: 40e9 }, { pipeline: 8 }),
  layout({ order: 9, stepTimeS: 10.5, peakBytes: 40e9 }, { tensor: 8 }),
];

describe('the layouts that are told', () => {
  it.each<[string, MeasuredLayout]>([
    ['another schedule', layout({ order: 2, stepTimeS: 10.1 }, { schedule: 'zb-h1' })],
    ['more memory', layout({ order: 2, stepTimeS: 10.1, peakBytes: 70e9 }, { shardGroup: 2 })],
    ['more time', layout({ order: 2, stepTimeS: 10.35 }, { schedule: 'gpipe' })],
    ['another order of ranks', layout({ order: 2, stepTimeS: 10.1 }, { rankOrder: 'tp-pp-cp-dp' })],
    ['norms computed again', layout({ order: 2, stepTimeS: 10.1, peakBytes: 58e9 }, { recompute: 'selective' })],
    [
      'two samples, each cut in two',
      layout({ order: 2, stepTimeS: 10.1 }, { context: 2, data: 2, microBatchSize: 2, shardGroup: 4 }),
    ],
  ])('are no second one by %s alone', (_sentence, trifle) => {
    expect(selectedOrders([FASTEST, trifle, ...OTHERS])).toEqual([1, 8, 9]);
  });

  it.each<[string, MeasuredLayout]>([
    ['other degrees', layout({ order: 2, stepTimeS: 10.1 }, { tensor: 2, data: 8 })],
    ['other expert degrees', layout({ order: 2, stepTimeS: 10.1 }, { expert: 8 })],
    ['samples cut in two', layout({ order: 2, stepTimeS: 10.1 }, { context: 2, data: 2 })],
    ['a tenth less memory', layout({ order: 2, stepTimeS: 10.1, peakBytes: 50e9 })],
    ['another number of GPUs', layout({ order: 2, stepTimeS: 10.1, gpus: 128 })],
  ])('are another one by %s', (_sentence, other) => {
    expect(selectedOrders([FASTEST, other, ...OTHERS])).toEqual([1, 2, 8]);
  });

  it('are also those of the front, which are smaller', () => {
    const [small] = OTHERS;
    const trifle = layout({ order: 2, stepTimeS: 10.05 });
    expect(selectedOrders([FASTEST, trifle], { front: small === undefined ? [] : [FASTEST, small] }, 2)).toEqual([
      1, 8,
    ]);
  });

  it('begin with the simplest, and have the fastest whatever it differs in', () => {
    const simplest = layout({ order: 3, stepTimeS: 10.2 });
    expect(selectedOrders([FASTEST, simplest, ...OTHERS], { simplest })).toEqual([3, 1, 8]);
    expect(selectedOrders([FASTEST, simplest, ...OTHERS], { simplest }, 1)).toEqual([3]);
  });

  it('are trifles where there is nothing else, so that as many are told as were asked for', () => {
    expect(
      selectedOrders([FASTEST, layout({ order: 2, stepTimeS: 10.1 }), layout({ order: 3, stepTimeS: 10.2 })]),
    ).toEqual([1, 2, 3]);
  });

  it('of the smallest begin with the smallest', () => {
    const small = layout({ order: 2, stepTimeS: 12, peakBytes: 20e9 });
    const ranked = selectLayouts(
      { best: [small, FASTEST], front: [], simplest: FASTEST },
      { objective: 'memory', top: 2 },
    );
    expect(ranked.map(({ order }) => order)).toEqual([2, 1]);
  });

  it('are none where none fits', () => {
    expect(selectedOrders([])).toEqual([]);
  });
});
