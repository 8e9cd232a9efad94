import fc from 'fast-check';
import { coordinatesOfRank, groupsOfAxis, type ParallelLayout, worldSize } from './index.ts';
import { rankOfCoordinates } from './rank-map.ts';
import { aLayout } from './testing/index.ts';

const LAYOUT = aLayout({
  tensorParallelDegree: 2,
  weightShardDegree: 2,
  contextParallelDegree: 3,
  dataParallelDegree: 2,
  pipelineParallelDegree: 2,
});

describe('the coordinates of a rank of tp2 wshard2 cp3 dp2 pp2', () => {
  it.each([
    [0, [0, 0, 0, 0, 0]],
    [1, [1, 0, 0, 0, 0]],
    [2, [0, 1, 0, 0, 0]],
    [4, [0, 0, 1, 0, 0]],
    [11, [1, 1, 2, 0, 0]],
    [12, [0, 0, 0, 1, 0]],
    [24, [0, 0, 0, 0, 1]],
    [47, [1, 1, 2, 1, 1]],
  ])('%i: tensor, weight shard, context, data and pipeline index are %j', (rank, want) => {
    const at = coordinatesOfRank(LAYOUT, rank);
    expect([at.tensorIndex, at.weightShardIndex, at.contextIndex, at.dataIndex, at.pipelineIndex]).toEqual(want);
    expect(rankOfCoordinates(LAYOUT, at)).toBe(rank);
  });
});

describe('the groups of one axis', () => {
  it.each([
    ['weightShard', '0 2'],
    ['context', '0 4 8'],
    ['data', '0 12'],
    ['pipeline', '0 24'],
    ['expert', '0'],
  ] as const)('of %s: rank 0 is in %s', (axis, want) => {
    expect(groupsOfAxis(LAYOUT, axis)[0]?.join(' ')).toBe(want);
  });
});

describe('on any layout', () => {
  const upTo = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });
  const anyLayout: fc.Arbitrary<ParallelLayout> = fc.record({
    tensorParallelDegree: upTo(4),
    weightShardDegree: upTo(2),
    contextParallelDegree: upTo(3),
    dataParallelDegree: upTo(4),
    pipelineParallelDegree: upTo(4),
    rankOrder: fc.shuffledSubarray(['tensor', 'weightShard', 'context', 'data', 'pipeline'], { minLength: 1 }),
  });

  it('no two ranks have the same coordinates, in any order of axes', () => {
    fc.assert(
      fc.property(anyLayout, (layout) => {
        const ranks = Array.from({ length: worldSize(layout) }, (_, rank) => rank);
        expect(new Set(ranks.map((rank) => JSON.stringify(coordinatesOfRank(layout, rank)))).size).toBe(ranks.length);
        expect(ranks.map((rank) => rankOfCoordinates(layout, coordinatesOfRank(layout, rank)))).toEqual(ranks);
      }),
    );
  });

  it('the members of a data-parallel group differ in their data index alone', () => {
    fc.assert(
      fc.property(anyLayout, (layout) => {
        const places = groupsOfAxis(layout, 'data').map((group) =>
          group.map((rank) => coordinatesOfRank(layout, rank)),
        );
        expect(places).toEqual(places.map((group) => group.map((_, dataIndex) => ({ ...group[0], dataIndex }))));
      }),
    );
  });
});
