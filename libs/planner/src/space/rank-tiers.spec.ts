import fc from 'fast-check';
import { RANK_ORDERS, type ClusterFacts, type RankOrder } from '../facts.ts';
import { aCluster } from '../testing/runs.ts';
import { denseRanksInTiers, distinctRankOrders, tierSizesOf } from './rank-tiers.ts';

const islandOf = (gpus: number) => ({ gpus, scaleOutGbPerS: 50, nicKind: 'roce' as const, relativeSpeed: 1 });

describe('tierSizesOf', () => {
  it.each<[string, ClusterFacts, readonly number[]]>([
    ['one node has no tiers', aCluster(8), []],
    ['nodes of eight are one tier, which is also their scale-up domain', aCluster(64), [8]],
    [
      'four GPUs per node below a rack of 72 are two',
      aCluster(288, { gpusPerNode: 4, scaleUpDomainGpus: 72 }),
      [4, 72],
    ],
    ['a scale-up domain smaller than its node stands first', aCluster(64, { scaleUpDomainGpus: 2 }), [2, 8]],
    ['a tier that holds the whole cluster divides nothing', aCluster(64, { scaleUpDomainGpus: 64 }), [8]],
    ['a tier of one GPU joins nothing', aCluster(64, { gpusPerNode: 1, scaleUpDomainGpus: 1 }), []],
    ['islands are the slowest tier', aCluster(64, { islands: [islandOf(32), islandOf(32)] }), [8, 32]],
    ['unequal islands are a tier each', aCluster(64, { islands: [islandOf(48), islandOf(16)] }), [8, 16, 48]],
    ['an island of one node is the tier of that node', aCluster(16, { islands: [islandOf(8), islandOf(8)] }), [8]],
  ])('%s', (_, cluster, sizes) => {
    expect(tierSizesOf(cluster)).toEqual(sizes);
  });
});

const AXES = ['tp', 'cp', 'dp', 'pp'] as const;
type Axis = (typeof AXES)[number];

interface Degrees {
  readonly tensor: number;
  readonly context: number;
  readonly pipeline: number;
  readonly data: number;
}

/** Coordinates of every rank of the grid, the first axis of the order running fastest. */
function gridOf(order: RankOrder, degrees: Degrees): readonly Readonly<Record<Axis, number>>[] {
  const sizes = { tp: degrees.tensor, cp: degrees.context, dp: degrees.data, pp: degrees.pipeline };
  let grid: Record<Axis, number>[] = [{ tp: 0, cp: 0, dp: 0, pp: 0 }];
  for (const axis of order.split('-') as Axis[]) {
    const before = grid;
    grid = Array.from({ length: sizes[axis] }, (_, place) => before.map((rank) => ({ ...rank, [axis]: place }))).flat();
  }
  return grid;
}

/** How many of the ranks 0 to tier - 1 differ from rank 0 on the given axes alone: counted, one by one. */
function countInside(order: RankOrder, degrees: Degrees, axes: readonly Axis[], tier: number): number {
  const others = AXES.filter((axis) => !axes.includes(axis));
  return gridOf(order, degrees)
    .slice(0, tier)
    .filter((rank) => others.every((axis) => rank[axis] === 0)).length;
}

const power = (most: number) => fc.integer({ min: 0, max: most }).map((exponent) => 2 ** exponent);
const grids = fc
  .record({ tensor: power(3), context: power(2), pipeline: power(3), data: power(3), node: power(3), domain: power(5) })
  .map(({ node, domain, ...degrees }) => {
    const gpus = degrees.tensor * degrees.context * degrees.pipeline * degrees.data;
    return { degrees, cluster: aCluster(gpus, { gpusPerNode: node, scaleUpDomainGpus: Math.max(node, domain) }) };
  });

describe('denseRanksInTiers', () => {
  it('counts what a walk over all ranks counts, where degrees and tiers are powers of two', () => {
    fc.assert(
      fc.property(grids, fc.constantFrom(...RANK_ORDERS), ({ degrees, cluster }, order) => {
        const walked = tierSizesOf(cluster).map((tier) => countInside(order, degrees, ['cp', 'dp'], tier));
        expect(denseRanksInTiers(degrees, order, cluster)).toEqual(walked);
      }),
    );
  });

  const grid = { tensor: 4, context: 2, pipeline: 2, data: 4 };
  it.each<[string, RankOrder, number]>([
    ['both context ranks of a node share it, where context follows tensor', 'tp-cp-dp-pp', 2],
    ['both data ranks, where data follows tensor', 'tp-dp-cp-pp', 2],
    ['no two ranks of the group, where the pipeline follows tensor', 'tp-pp-cp-dp', 1],
  ])('of 4 tensor ranks on nodes of 8: %s', (_, order, inside) => {
    expect(denseRanksInTiers(grid, order, aCluster(64))).toEqual([inside]);
  });

  it('counts whole strides only: a rack of 72 holds four full groups of 16 ranks, and a half that counts for nothing', () => {
    const cluster = aCluster(288, { gpusPerNode: 4, scaleUpDomainGpus: 72 });
    expect(denseRanksInTiers({ tensor: 16, context: 1, pipeline: 1, data: 18 }, 'tp-cp-dp-pp', cluster)).toEqual([
      1, 4,
    ]);
  });
});

describe('distinctRankOrders', () => {
  it('keeps the first order of every way to fill the tiers, as a walk over all ranks finds them', () => {
    fc.assert(
      fc.property(grids, ({ degrees, cluster }) => {
        const groups: readonly Axis[][] = [['cp'], ['dp'], ['pp'], ['cp', 'dp']];
        const seen = new Set<string>();
        const first = RANK_ORDERS.filter((order) => {
          const filling = tierSizesOf(cluster)
            .map((tier) => groups.map((axes) => countInside(order, degrees, axes, tier)).join())
            .join(';');
          return !seen.has(filling) && seen.add(filling);
        });
        expect(distinctRankOrders(degrees, cluster)).toEqual(first);
      }),
    );
  });

  it.each<[string, Degrees, ClusterFacts, readonly RankOrder[]]>([
    [
      'inside one node all are the same to the network',
      { tensor: 2, context: 2, pipeline: 2, data: 1 },
      aCluster(8),
      ['tp-cp-dp-pp'],
    ],
    [
      'where tensor fills the node, everything else crosses it in any order',
      { tensor: 8, context: 2, pipeline: 2, data: 2 },
      aCluster(64),
      ['tp-cp-dp-pp'],
    ],
    [
      'of two axes that find room for one of them beside tensor, either may stay inside the node',
      { tensor: 4, context: 1, pipeline: 2, data: 2 },
      aCluster(16),
      ['tp-cp-dp-pp', 'tp-cp-pp-dp'],
    ],
    [
      'three axes in a node that has room for one are three ways',
      { tensor: 4, context: 2, pipeline: 2, data: 2 },
      aCluster(32),
      ['tp-cp-dp-pp', 'tp-dp-cp-pp', 'tp-pp-cp-dp'],
    ],
  ])('%s', (_, degrees, cluster, orders) => {
    expect(distinctRankOrders(degrees, cluster)).toEqual(orders);
  });

  it('chooses among the orders that it is given', () => {
    const degrees = { tensor: 8, context: 2, pipeline: 2, data: 2 };
    expect(distinctRankOrders(degrees, aCluster(64), ['tp-pp-dp-cp', 'tp-cp-dp-pp'])).toEqual(['tp-pp-dp-cp']);
  });
});
