import fc from 'fast-check';
import {
  coordinatesOfRank,
  formatLayout,
  groupsOfAxis,
  layoutViolations,
  ParallelLayout,
  rankOfCoordinates,
  worldSize,
} from './index.ts';
import { aLayout } from './testing/index.ts';

const model = { layers: 4, hiddenSize: 128, attentionHeads: 4, globalBatchSize: 8, microBatchSize: 1 };
const anyLayout = fc
  .record({
    tp: fc.integer({ min: 1, max: 8 }),
    pp: fc.integer({ min: 1, max: 8 }),
    dp: fc.integer({ min: 1, max: 8 }),
  })
  .map(({ tp, pp, dp }) => aLayout({ tensorParallelDegree: tp, pipelineParallelDegree: pp, dataParallelDegree: dp }));

describe('a parallel layout', () => {
  it('is one rank when nothing is said', () => {
    expect(worldSize(ParallelLayout.parse({}))).toBe(1);
  });

  it.each([
    { layout: aLayout(), want: '1 rank' },
    { layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 4 }), want: 'tp2 x dp4' },
    { layout: aLayout({ pipelineParallelDegree: 2 }), want: 'pp2' },
  ])('reads $want', ({ layout, want }) => {
    expect(formatLayout(layout)).toBe(want);
  });

  it.each([
    [
      'is legal when every degree divides what it splits',
      aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 }),
      [],
    ],
    ['must split attention heads evenly', aLayout({ tensorParallelDegree: 3 }), ['tensorDividesAttentionHeads']],
    ['must split layers evenly', aLayout({ pipelineParallelDegree: 3 }), ['pipelineDividesLayers']],
    ['must split the batch evenly', aLayout({ dataParallelDegree: 3 }), ['dataTimesMicroBatchDividesGlobalBatch']],
    [
      'reports every broken rule at once',
      aLayout({ tensorParallelDegree: 3, pipelineParallelDegree: 5 }),
      ['tensorDividesAttentionHeads', 'pipelineDividesLayers'],
    ],
  ] as const)('%s', (_sentence, layout, want) => {
    expect(layoutViolations(layout, model).map((violation) => violation.rule)).toEqual(want);
  });

  it('names field, values and the nearest legal degree when a rule is broken', () => {
    const [violation] = layoutViolations(aLayout({ tensorParallelDegree: 5 }), { ...model, attentionHeads: 96 });
    expect(violation?.message).toBe(
      'tensorParallelDegree 5 does not divide attentionHeads 96; the nearest that does is 4',
    );
  });
});

describe('the rank map', () => {
  it('counts tensor fastest, then data, then pipeline, as Megatron does', () => {
    const layout = aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2, pipelineParallelDegree: 2 });
    expect(groupsOfAxis(layout, 'tensor')).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
      [6, 7],
    ]);
    expect(groupsOfAxis(layout, 'data')).toEqual([
      [0, 2],
      [1, 3],
      [4, 6],
      [5, 7],
    ]);
    expect(groupsOfAxis(layout, 'pipeline')).toEqual([
      [0, 4],
      [1, 5],
      [2, 6],
      [3, 7],
    ]);
  });

  it('gives every rank coordinates that lead back to it', () => {
    fc.assert(
      fc.property(anyLayout, (layout) => {
        for (let rank = 0; rank < worldSize(layout); rank++) {
          expect(rankOfCoordinates(layout, coordinatesOfRank(layout, rank))).toBe(rank);
        }
      }),
    );
  });

  it('puts every rank into exactly one group of each axis', () => {
    fc.assert(
      fc.property(
        anyLayout,
        fc.constantFrom('tensor' as const, 'data' as const, 'pipeline' as const),
        (layout, axis) => {
          const ranks = groupsOfAxis(layout, axis)
            .flat()
            .sort((a, b) => a - b);
          expect(ranks).toEqual(Array.from({ length: worldSize(layout) }, (_, rank) => rank));
        },
      ),
    );
  });
});
