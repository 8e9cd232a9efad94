import { type ParallelLayout, type RankAxis, worldSize } from './parallel-layout.ts';

/** One factorisation of all ranks; the first axis has adjacent ranks, the last the most distant ones. The product of the degrees is the world size. */
export interface RankGrid {
  readonly axes: readonly GridAxis[];
}

/** One axis of a {@link RankGrid}. */
export interface GridAxis {
  readonly axis: RankAxis;
  readonly degree: number;
  /** Distance in ranks between neighbours on this axis. */
  readonly stride: number;
}

const DEFAULT_ORDER: readonly RankAxis[] = ['tensor', 'context', 'expert', 'data', 'pipeline'];

/**
 * The grid of attention, dense MLPs and embeddings.
 *
 * Megatron-LM's `RankGenerator` (megatron/core/parallel_state.py) with order `tp-cp-ep-dp-pp` unless `rankOrder` gives another order; weight
 * shards come after tensor. TorchTitan's mesh (pp, dp_replicate, dp_shard, cp, tp; outermost first) is the same grid.
 */
export function denseGrid(layout: ParallelLayout): RankGrid {
  return gridOf(axisOrder(layout, 'tensor'), {
    tensor: layout.tensorParallelDegree,
    weightShard: layout.weightShardDegree ?? 1,
    context: layout.contextParallelDegree ?? 1,
    expert: 1,
    data: layout.dataParallelDegree,
    pipeline: layout.pipelineParallelDegree,
  });
}

/**
 * The grid of experts: the same ranks and pipeline stages, divided anew. `tensor` is expert tensor parallelism, `data` the replicas of an
 * expert; there is no context axis. Undefined for a layout without experts. Throws a RangeError if the degrees do not divide a stage
 * (rule expertGridFillsStage).
 */
export function expertGrid(layout: ParallelLayout): RankGrid | undefined {
  const { expert } = layout;
  if (expert === undefined) return undefined;
  const tensor = expert.expertTensorParallelDegree ?? layout.tensorParallelDegree;
  const weightShard = expert.weightShardDegree ?? 1;
  const stage = worldSize(layout) / layout.pipelineParallelDegree;
  const data = stage / (tensor * weightShard * expert.expertParallelDegree);
  if (!Number.isInteger(data)) {
    throw new RangeError(
      `experts are divided over ${stage / data} ranks, which does not divide the ${stage} of a stage`,
    );
  }
  return gridOf(axisOrder(layout, 'expert'), {
    tensor,
    weightShard,
    context: 1,
    expert: expert.expertParallelDegree,
    data,
    pipeline: layout.pipelineParallelDegree,
  });
}

/** The axis with this name. Throws a RangeError if the grid has none. */
export function axisOf(grid: RankGrid, axis: RankAxis): GridAxis {
  const found = grid.axes.find((candidate) => candidate.axis === axis);
  if (found === undefined) throw new RangeError(`a grid has no axis ${axis}`);
  return found;
}

/** Index of a rank on an axis, in [0, degree). */
export function indexOnAxis({ degree, stride }: GridAxis, rank: number): number {
  return Math.floor(rank / stride) % degree;
}

/**
 * The process groups over one or several axes, in the engine's order: groups by the first axis they are not on, members by the first they are
 * on. Every rank is in exactly one.
 */
export function groupsOver(grid: RankGrid, axes: readonly RankAxis[]): readonly (readonly number[])[] {
  const inside = grid.axes.filter(({ axis }) => axes.includes(axis));
  const outside = grid.axes.filter(({ axis }) => !axes.includes(axis));
  const members = offsetsOver(inside);
  return offsetsOver(outside).map((first) => members.map((offset) => first + offset));
}

/** Ranks reached from rank 0 along the axes, the first axis fastest. */
function offsetsOver(axes: readonly GridAxis[]): readonly number[] {
  return axes.reduce<readonly number[]>(
    (offsets, { degree, stride }) =>
      degree === 1
        ? offsets
        : Array.from({ length: degree }, (_, index) => offsets.map((offset) => offset + index * stride)).flat(),
    [0],
  );
}

/** Every axis once. Axes that `rankOrder` omits have degree 1 and come last; weight shards come after `weightShardAfter`. */
function axisOrder(layout: ParallelLayout, weightShardAfter: RankAxis): readonly RankAxis[] {
  const order = [...new Set([...(layout.rankOrder ?? DEFAULT_ORDER), ...DEFAULT_ORDER])];
  if (!order.includes('weightShard')) order.splice(order.indexOf(weightShardAfter) + 1, 0, 'weightShard');
  return order;
}

function gridOf(order: readonly RankAxis[], degrees: Readonly<Record<RankAxis, number>>): RankGrid {
  let stride = 1;
  const axes = order.map((axis) => {
    const placed = { axis, degree: degrees[axis], stride };
    stride *= degrees[axis];
    return placed;
  });
  return { axes };
}
