import type { LayoutPoint, RankOrder } from '../facts.ts';
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

export function groupsOf(layout: LayoutPoint): LayoutGroups {
  const { tensor, context, pipeline, data, shardGroup, expert, expertTensor } = layout;
  const sizes: Readonly<Record<string, number>> = { tp: tensor, cp: context, dp: data, pp: pipeline };
  const strides: Record<string, number> = {};
  let stride = 1;
  for (const axis of (layout.rankOrder ?? DEFAULT_ORDER).split('-')) {
    strides[axis] = stride;
    stride *= sizes[axis] ?? 1;
  }
  const { cp = 1, dp = 1, pp = 1 } = strides;
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
