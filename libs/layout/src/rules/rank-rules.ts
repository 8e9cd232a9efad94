import { MAX_WORLD_SIZE } from '../degree.ts';
import { axisOf, denseGrid } from '../rank-grid.ts';
import { type ParallelLayout, RANK_AXES, type RankAxis, worldSize } from '../parallel-layout.ts';
import { broken, type OptionRule } from './option-rule.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about the number and order of ranks. */
export const rankRules: readonly OptionRule[] = [
  {
    name: 'worldSizeWithinLimit',
    source: 'this project',
    statement: `a layout has at most ${MAX_WORLD_SIZE} ranks; a plan may have a lower limit`,
    check: (layout, { mostRanks = MAX_WORLD_SIZE }) => {
      const ranks = worldSize(layout);
      if (ranks <= mostRanks) return [];
      const others = ranks / layout.dataParallelDegree;
      const hint =
        others > mostRanks
          ? `and the degrees other than dataParallelDegree make ${others} already; make one of them smaller`
          : `so the largest dataParallelDegree is ${Math.floor(mostRanks / others)}`;
      return broken(
        'dataParallelDegree',
        `the product of the degrees is ${ranks} GPUs; at most ${mostRanks} are supported, ${hint}`,
      );
    },
  },
  {
    name: 'degreesMakeTheGpus',
    source: 'every engine',
    statement: 'tensor times weight shard times context times data times pipeline is the number of GPUs',
    check: (layout, { gpus }) => {
      const ranks = worldSize(layout);
      if (gpus === undefined || ranks === gpus) return [];
      const others = ranks / layout.dataParallelDegree;
      const hint = Number.isInteger(gpus / others)
        ? `use dataParallelDegree ${gpus / others}`
        : `the nearest number of GPUs that the other degrees divide is ${Math.max(1, Math.round(gpus / others)) * others}`;
      return broken(
        'dataParallelDegree',
        `the degrees multiply to ${ranks} ranks, but there are ${gpus} GPUs; ${hint}`,
      );
    },
  },
  {
    name: 'rankOrderNamesEveryAxis',
    source: `${MEGATRON} (RankGenerator)`,
    statement: 'rankOrder names every axis of a degree above 1, and none twice',
    check: (layout) => {
      const { rankOrder } = layout;
      if (rankOrder === undefined) return [];
      const twice = rankOrder.filter((axis, index) => rankOrder.indexOf(axis) !== index);
      const missing = RANK_AXES.filter(
        (axis) => axis !== 'weightShard' && !rankOrder.includes(axis) && degreeOf(layout, axis) > 1,
      );
      const wrong = [
        ...(twice.length > 0 ? [`names ${twice.join(', ')} twice`] : []),
        ...(missing.length > 0 ? [`leaves out ${missing.join(', ')}`] : []),
      ];
      if (wrong.length === 0) return [];
      const legal = [...new Set([...rankOrder, ...missing])].join(', ');
      return broken('rankOrder', `rankOrder ${wrong.join(' and ')}; a legal order is ${legal}`);
    },
  },
  {
    name: 'expertsShareThePipeline',
    source: `${MEGATRON} (parallel_state.py)`,
    statement: 'unless pipeline is last in rankOrder, experts have the data parallel degree of the dense layers',
    check: (layout) => {
      const { expert, rankOrder } = layout;
      if (expert === undefined || rankOrder === undefined || layout.pipelineParallelDegree === 1) return [];
      const behind = rankOrder
        .slice(rankOrder.indexOf('pipeline') + 1)
        .filter((axis) => degreeOf(layout, axis) > 1 || axis === 'expert');
      if (behind.length === 0) return [];
      const dense = worldSize(layout) / layout.pipelineParallelDegree;
      const ways = (expert.expertTensorParallelDegree ?? layout.tensorParallelDegree) * expert.expertParallelDegree;
      const replicas = dense / (ways * (expert.weightShardDegree ?? 1));
      if (replicas === layout.dataParallelDegree) return [];
      return broken(
        'rankOrder',
        `rankOrder puts ${behind.join(', ')} after pipeline, but experts have ${replicas} replicas and dense layers have ` +
          `${layout.dataParallelDegree}; put pipeline last, or make expertParallelDegree times expertTensorParallelDegree ` +
          `${dense / layout.dataParallelDegree}`,
      );
    },
  },
];

function degreeOf(layout: ParallelLayout, axis: RankAxis): number {
  return axis === 'expert' ? (layout.expert?.expertParallelDegree ?? 1) : axisOf(denseGrid(layout), axis).degree;
}
