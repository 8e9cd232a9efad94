import type { GridPoint } from '../grid-point.ts';
import { divisorsOf, nearest, nearestDivisor } from '../nearest.ts';
import { divides, type GridRule } from './grid-rule.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about what expert ranks split. */
export const expertDegreeRules: readonly GridRule[] = [
  {
    name: 'expertGridFillsStage',
    source: `${MEGATRON} (at run time only), TorchTitan`,
    statement:
      'expertParallelDegree times expertTensorParallelDegree times expert weightShardDegree divides the ranks of a pipeline stage',
    holds: (point) => stageRanks(point) % (point.expert * point.expertTensor * (point.expertWeightShard ?? 1)) === 0,
    explain: (point) => {
      const others = point.expertTensor * (point.expertWeightShard ?? 1);
      const ranks = stageRanks(point);
      const legal = divisorsOf(ranks).filter((ways) => ranks % (ways * others) === 0);
      const nearestWays = nearest(legal, point.expert);
      return {
        field: 'expert/expertParallelDegree',
        message:
          `expert.expertParallelDegree ${point.expert} times expertTensorParallelDegree ${point.expertTensor}` +
          `${others === point.expertTensor ? '' : ` times weightShardDegree ${point.expertWeightShard ?? 1}`} is ` +
          `${point.expert * others}, which does not divide the ${ranks} ranks of a pipeline stage; ` +
          (nearestWays === undefined
            ? `expertTensorParallelDegree must divide them first; the nearest that does is ${nearestDivisor(ranks, point.expertTensor)}`
            : `the nearest expertParallelDegree that does is ${nearestWays}`),
      };
    },
  },
  {
    name: 'expertParallelDividesExperts',
    source: MEGATRON,
    statement: 'expertParallelDegree divides the experts of a layer',
    holds: (point, facts) =>
      point.expert === 1 || facts.layers === undefined || (facts.experts?.count ?? 1) % point.expert === 0,
    explain: (point, { experts }) => ({
      field: 'expert/expertParallelDegree',
      message:
        experts === undefined
          ? `expert.expertParallelDegree ${point.expert} needs a model with experts, and this model has none; remove expert`
          : `expert.expertParallelDegree ${point.expert} does not divide experts.count ${experts.count}; ` +
            `the nearest that does is ${nearestDivisor(experts.count, point.expert)}`,
    }),
  },
  divides({
    name: 'expertTensorDividesExpertFfn',
    source: MEGATRON,
    statement: 'expertTensorParallelDegree divides experts.ffnHiddenSize',
    field: 'expert/expertTensorParallelDegree',
    ways: (point) => point.expertTensor,
    whole: (_, facts) => facts.experts?.ffnHiddenSize,
    wholeName: 'experts.ffnHiddenSize',
  }),
];

function stageRanks(point: GridPoint): number {
  return point.tensor * (point.weightShard ?? 1) * point.context * point.data;
}
