/** The process groups of a layout. */
import type { CandidateLayout, RankOrder } from '../facts.ts';
import { commonDivisor, type Group } from './tiers.ts';

/** The process groups of a layout: number of ranks, and their distance. */
export interface LayoutGroups {
  readonly context: Group;
  readonly pipeline: Group;
  /** Ranks that hold the same dense weights: data and context parallel together. */
  readonly dense: Group;
  /** Ranks of `dense` that share one copy of sharded states, and the ranks that hold the other copies. */
  readonly shard: Group;
  readonly replicas: Group;
  /** Ranks that hold different experts of one copy. */
  readonly expert: Group;
  /** Ranks that hold the same expert weights. */
  readonly expertData: Group;
}

const DEFAULT_ORDER: RankOrder = 'tp-cp-dp-pp';

/** Distances between neighbours on the context, data and pipeline axes. */
function stridesOf(
  { tensor: t, context: c, data: d, pipeline: p }: Grid,
  order: RankOrder,
): { readonly cp: number; readonly dp: number; readonly pp: number } {
  switch (order) {
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

type Grid = Pick<
  CandidateLayout,
  'tensor' | 'context' | 'pipeline' | 'data' | 'shardGroup' | 'expert' | 'expertTensor' | 'rankOrder'
>;

/** Groups of the last grid, because a prediction reads the same groups many times. */
let last: { readonly grid: Grid; readonly groups: LayoutGroups } | undefined;

/** The process groups of a candidate. */
export function groupsOf(candidate: Grid): LayoutGroups {
  if (last !== undefined && isSameGrid(last.grid, candidate)) return last.groups;
  const groups = groupsOfGrid(candidate);
  last = { grid: candidate, groups };
  return groups;
}

function isSameGrid(grid: Grid, other: Grid): boolean {
  return (
    grid.tensor === other.tensor &&
    grid.context === other.context &&
    grid.pipeline === other.pipeline &&
    grid.data === other.data &&
    grid.shardGroup === other.shardGroup &&
    grid.expert === other.expert &&
    grid.expertTensor === other.expertTensor &&
    grid.rankOrder === other.rankOrder
  );
}

function groupsOfGrid(candidate: Grid): LayoutGroups {
  const { tensor, context, pipeline, data, expert, expertTensor } = candidate;
  const order = candidate.rankOrder ?? DEFAULT_ORDER;
  const { cp, dp, pp } = stridesOf(candidate, order);
  const onContext = { size: context, stride: cp };
  const onData = { size: data, stride: dp };
  const [near, far] = cp <= dp ? [onContext, onData] : [onData, onContext];
  const shardGroup = Math.min(candidate.shardGroup, data * context);
  const shardNear = commonDivisor(shardGroup, near.size);
  const shardFar = shardGroup / shardNear;
  return {
    context: onContext,
    pipeline: { size: pipeline, stride: pp },
    dense: joined(near, far),
    shard: joined({ ...near, size: shardNear }, { ...far, size: shardFar }),
    replicas: joined(
      { size: near.size / shardNear, stride: near.stride * shardNear },
      { size: far.size / shardFar, stride: far.stride * shardFar },
    ),
    ...expertGroups(expert, expertTensor, {
      order,
      pipeline,
      size: (tensor * context * data) / (expert * expertTensor),
    }),
  };
}

/** One group of two axes, the nearer one first. */
function joined(near: Group, far: Group): Group {
  const size = near.size * far.size;
  if (near.size === 1 && far.size > 1) return far;
  if (far.size === 1) return near;
  if (far.stride === near.size * near.stride) return { size, stride: near.stride };
  return { size, stride: near.stride, runs: { length: near.size, stride: far.stride } };
}

/** Megatron-LM's expert grid has the order of the dense one, with expert where context is (megatron/core/parallel_state.py, RankGenerator). */
function expertGroups(
  expert: number,
  expertTensor: number,
  { order, pipeline, size }: { readonly order: RankOrder; readonly pipeline: number; readonly size: number },
): Pick<LayoutGroups, 'expert' | 'expertData'> {
  const pipelineAt = order.indexOf('pp');
  const inside = pipelineAt < order.indexOf('cp') && pipelineAt < order.indexOf('dp');
  const stride = expertTensor * (inside ? pipeline : 1);
  const between = !inside && pipelineAt < order.indexOf('dp');
  return {
    expert: { size: expert, stride },
    expertData: { size: Math.max(1, size), stride: stride * expert * (between ? pipeline : 1) },
  };
}
