import { divisorsOf, nearestDivisor } from '../nearest.ts';
import { worldSize } from '../parallel-layout.ts';
import { brokenIf, MEGATRON_FAMILY, type OptionRule } from './option-rule.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about experts other than degrees. */
export const expertRules: readonly OptionRule[] = [
  {
    name: 'topKWithinExperts',
    source: MEGATRON,
    statement: 'experts.topK is at most experts.count',
    check: (_, { experts }) =>
      brokenIf(
        experts !== undefined && experts.topK > experts.count,
        'expert',
        () =>
          `experts.topK ${experts?.topK ?? 0} is more than experts.count ${experts?.count ?? 0}; the nearest topK is ${experts?.count ?? 0}`,
      ),
  },
  {
    name: 'expertsWithTensorNeedSequenceParallel',
    source: `${MEGATRON} (megatron/core/transformer/moe/moe_layer.py)`,
    statement: 'on Megatron-LM a model with experts and tensorParallelDegree above 1 needs sequenceParallel',
    check: (layout, facts) =>
      brokenIf(
        MEGATRON_FAMILY.has(facts.engine) &&
          facts.experts !== undefined &&
          layout.tensorParallelDegree > 1 &&
          layout.sequence?.sequenceParallel !== true,
        'sequence/sequenceParallel',
        () =>
          `experts with tensorParallelDegree ${layout.tensorParallelDegree} need sequence.sequenceParallel true on ${String(facts.engine)}`,
      ),
  },
  {
    name: 'adaptiveDegreeDividesSpareRanks',
    source: 'Tutel',
    statement: 'expert.adaptiveDegree is 0 or divides ranks / experts',
    check: (layout, { experts }) => {
      const degree = layout.expert?.adaptiveDegree;
      if (degree === undefined || degree === 0 || experts === undefined) return [];
      const spare = Math.max(1, Math.floor(worldSize(layout) / experts.count));
      return brokenIf(
        spare % degree !== 0,
        'expert/adaptiveDegree',
        () =>
          `expert.adaptiveDegree ${degree} does not divide ${worldSize(layout)} ranks / ${experts.count} experts, ${spare}; ` +
          `legal are 0, ${divisorsOf(spare).join(', ')}, the nearest is ${nearestDivisor(spare, degree)}`,
      );
    },
  },
  {
    name: 'twoLevelAllToAllNeedsFullNodes',
    source: 'Tutel',
    statement: 'dispatcher alltoall-2d needs every node to be full',
    check: (layout, { gpusPerNode }) => {
      const ranks = worldSize(layout);
      return brokenIf(
        layout.expert?.dispatcher === 'alltoall-2d' && gpusPerNode !== undefined && ranks % gpusPerNode !== 0,
        'expert/dispatcher',
        () =>
          `expert.dispatcher alltoall-2d needs full nodes, but ${ranks} ranks use ` +
          `${ranks % (gpusPerNode ?? 1)} of the ${gpusPerNode ?? 0} GPUs of the last node; use alltoall, or ${Math.ceil(ranks / (gpusPerNode ?? 1)) * (gpusPerNode ?? 1)} ranks`,
      );
    },
  },
  {
    name: 'expertsStayInReplica',
    source: 'TorchTitan (parallel_dims.py)',
    statement:
      'on TorchTitan expertParallelDegree divides the ranks of one replica of a stage: shard degree times tensor',
    check: (layout, { engine }) => {
      if (engine !== 'torchtitan' && engine !== 'torchtitan-toml') return [];
      const ranks = layout.dataParallelDegree * (layout.contextParallelDegree ?? 1);
      const replica = (layout.dataParallelShardDegree ?? ranks) * layout.tensorParallelDegree;
      const ways = layout.expert?.expertParallelDegree ?? 1;
      return brokenIf(
        replica % ways !== 0,
        'expert/expertParallelDegree',
        () =>
          `expert.expertParallelDegree ${ways} does not divide the ${replica} ranks of one replica (dataParallelShardDegree times ` +
          `tensorParallelDegree); the nearest that does is ${nearestDivisor(replica, ways)}`,
      );
    },
  },
  {
    name: 'deepspeedExpertsAreAlone',
    source: 'DeepSpeed (AutoEP, AutoTP)',
    statement:
      'on DeepSpeed expert parallelism supports ZeRO up to stage 2, and not tensor and pipeline parallelism together',
    check: (layout, { engine }) => {
      if (engine !== 'deepspeed' || (layout.expert?.expertParallelDegree ?? 1) === 1) return [];
      const { tensorParallelDegree: tensor, pipelineParallelDegree: pipeline } = layout;
      const stage = layout.states?.zeroStage ?? 0;
      return [
        ...brokenIf(
          stage === 3,
          'states/zeroStage',
          () => 'states.zeroStage 3 cannot be combined with expert parallelism on deepspeed; the nearest is 2',
        ),
        ...brokenIf(
          tensor > 1 && pipeline > 1,
          'pipelineParallelDegree',
          () =>
            `expert parallelism with tensorParallelDegree ${tensor} requires pipelineParallelDegree 1 on deepspeed, not ${pipeline}`,
        ),
      ];
    },
  },
];
