import type { CandidateLayout, RankOrder } from '../facts.ts';
import type { Group } from './links.ts';

/** The process groups of a layout as the network sees them: how many ranks, and how far apart. */
export interface LayoutGroups {
  readonly context: Group;
  readonly pipeline: Group;
  /** Ranks that hold the same dense weights: data and context parallel together. */
  readonly dense: Group;
  /** Ranks of `dense` that share one copy of sharded states, and the ranks that hold the other copies. */
  readonly shard: Group;
  readonly replicas: Group;
  /** Ranks that hold the same expert weights. */
  readonly expertData: Group;
}

const DEFAULT_ORDER: RankOrder = 'tp-cp-dp-pp';

/** Distances between neighbours on the context, data and pipeline axes. */
function stridesOf(candidate: CandidateLayout): { readonly cp: number; readonly dp: number; readonly pp: number } {
  const { tensor: t, context: c, data: d, pipeline: p } = candidate;
  switch (candidate.rankOrder ?? DEFAULT_ORDER) {
    case 'tp-cp-dp-pp':
      return { cp: t, dp: t * c, pp: t * c * d };
    case 'tp-cp-pp-dp':
      return { cp: t, pp: t * c, dp: t * c * p };
    case 'tp-dp-cp-pp':
      return { dp: t, cp: t * d, pp: t * d * c };
    case 'tp-dp-pp-cp':
      return { dp: t, pp: t * d, cp: t * d * p };
    case 'tp-pp-cp-dp':
      return { pp: t, cp: t * p, dp: t * p * c };
    case 'tp-pp-dp-cp':
      return { pp: t, dp: t * p, cp: t * p * d };
  }
}

export function groupsOf(candidate: CandidateLayout): LayoutGroups {
  const { tensor, context, pipeline, data, shardGroup, expert, expertTensor } = candidate;
  const { cp, dp, pp } = stridesOf(candidate);
  const dense = { size: data * context, stride: context === 1 ? dp : data === 1 ? cp : Math.min(cp, dp) };
  const shard = { size: Math.min(shardGroup, dense.size), stride: dense.stride };
  const expertWays = expert * expertTensor;
  return {
    context: { size: context, stride: cp },
    pipeline: { size: pipeline, stride: pp },
    dense,
    shard,
    replicas: { size: dense.size / shard.size, stride: dense.stride * shard.size },
    expertData: { size: Math.max(1, (tensor * context * data) / expertWays), stride: expertWays },
  };
}
