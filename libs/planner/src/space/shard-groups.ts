/** Sizes of groups that shard states or weights. */
import { ZERO_STAGES, type AllowedChoices, type PinnedAxes } from '../contract.ts';
import type { CandidateLayout, ClusterFacts, RankOrder } from '../facts.ts';
import { denseRanksInTiers } from './rank-tiers.ts';
import { mayShareInGroups, type StateSharing } from './shared-states.ts';

interface Space {
  readonly cluster: ClusterFacts;
  readonly pinned: PinnedAxes;
  readonly allow: AllowedChoices;
  readonly sharing?: StateSharing;
}

type Mesh = Pick<CandidateLayout, 'tensor' | 'context' | 'pipeline' | 'data'> & { readonly rankOrder: RankOrder };

/** Sizes of shard groups, descending: all ranks with the same dense weights, then those that share a tier. */
export function shardGroupsOf(space: Space, mesh: Mesh): readonly number[] {
  const replicas = mesh.data * mesh.context;
  if (space.pinned.shardGroup !== undefined) return [space.pinned.shardGroup];
  const inGroups = denseRanksInTiers(mesh, mesh.rankOrder, space.cluster).filter(
    (size) => size > 1 && replicas % size === 0 && mayShareInGroups(space, mesh, size),
  );
  return [...new Set([replicas, ...inGroups])].sort((a, b) => b - a);
}

/**
 * Those of the groups that may share weights too (ZeRO 3). A pipeline gathers them anew for every micro-batch, on every rank, so there they stay in one node or scale-up
 * domain. Of 890 published runs with a pipeline that state what they share, none shares weights (`measurements*.csv` of research/planner-calibration). Engines that share all or nothing are
 * left their only way.
 */
export function gatherGroupsOf(space: Space, mesh: Mesh, groups = shardGroupsOf(space, mesh)): readonly number[] {
  const { pinned, cluster, allow } = space;
  if (mesh.pipeline === 1 || pinned.zeroStage !== undefined || pinned.shardGroup !== undefined) return groups;
  const keepsWeights = (allow.zeroStages ?? ZERO_STAGES).some((stage) => stage === 1 || stage === 2);
  if (!keepsWeights) return groups;
  const near = Math.max(cluster.gpusPerNode, cluster.scaleUpDomainGpus);
  const [inDomain = 1] = denseRanksInTiers(mesh, mesh.rankOrder, cluster, [near]);
  return groups.filter((size) => size <= inDomain);
}
