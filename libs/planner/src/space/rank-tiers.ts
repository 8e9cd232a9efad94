/** Network tiers that axes cross, and rank orders that are equal for the network. */
import { RANK_ORDERS, type ClusterFacts, type CandidateLayout, type RankOrder } from '../facts.ts';

type Degrees = Pick<CandidateLayout, 'tensor' | 'context' | 'pipeline' | 'data'>;

/** Sizes of the blocks of consecutive ranks that a faster network joins: scale-up domains, nodes, islands. Ascending, none twice. */
export function tierSizesOf(cluster: ClusterFacts): readonly number[] {
  const islands = (cluster.islands ?? []).map((island) => island.gpus);
  const sizes = [cluster.gpusPerNode, cluster.scaleUpDomainGpus, ...islands];
  return [...new Set(sizes.filter((size) => size > 1 && size < cluster.gpus))].sort((a, b) => a - b);
}

/** Rank orders that differ for the network: one of those with the same ranks of every group in every tier. */
export function distinctRankOrders(
  degrees: Degrees,
  cluster: ClusterFacts,
  orders: readonly RankOrder[] = RANK_ORDERS,
): readonly RankOrder[] {
  const tiers = tierSizesOf(cluster);
  const seen = new Set<string>();
  return orders.filter((order) => {
    const signature = tierSignature(order, degrees, tiers);
    if (seen.has(signature)) return false;
    seen.add(signature);
    return true;
  });
}

/** Number of data and context ranks inside each tier (by default all tiers of the cluster): sizes of shard groups that stay in a tier. */
export function denseRanksInTiers(
  degrees: Degrees,
  order: RankOrder,
  cluster: ClusterFacts,
  tiers: readonly number[] = tierSizesOf(cluster),
): readonly number[] {
  return tiers.map((tier) => insideTier(order, degrees, ['cp', 'dp'], tier));
}

/** Members of every group that share a tier, and the distance between its neighbours where a group reaches beyond a tier. */
function tierSignature(order: RankOrder, degrees: Degrees, tiers: readonly number[]): string {
  const groups = [['cp'], ['dp'], ['pp'], ['cp', 'dp']];
  return tiers.map((tier) => groups.map((axes) => insideTier(order, degrees, axes, tier)).join(',')).join(';');
}

/** Ranks 0 … tier - 1 whose coordinates on all other axes are 0. */
function insideTier(order: RankOrder, degrees: Degrees, axes: readonly string[], tier: number): number {
  const sizes: Readonly<Record<string, number>> = {
    tp: degrees.tensor,
    cp: degrees.context,
    dp: degrees.data,
    pp: degrees.pipeline,
  };
  let stride = 1;
  let inside = 1;
  for (const axis of order.split('-')) {
    const size = sizes[axis] ?? 1;
    if (axes.includes(axis)) inside *= Math.max(1, Math.min(size, Math.floor(tier / stride)));
    stride *= size;
  }
  return inside;
}
