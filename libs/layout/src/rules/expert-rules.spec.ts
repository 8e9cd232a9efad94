import { EIGHT_EXPERTS, type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { expertRules } from './expert-rules.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'topKWithinExperts',
    layout: {},
    facts: { experts: { count: 8, topK: 9 } },
    message: 'experts.topK 9 is more than experts.count 8; the nearest topK is 8',
    waysOut: [{ facts: { experts: { count: 8, topK: 8 } } }],
  },
  {
    rule: 'expertsWithTensorNeedSequenceParallel',
    layout: { tensorParallelDegree: 2 },
    facts: { ...EIGHT_EXPERTS, engine: 'megatron-lm' },
    message: 'experts with tensorParallelDegree 2 need sequence.sequenceParallel true on megatron-lm',
    waysOut: [{ layout: { sequence: { sequenceParallel: true } } }],
  },
  {
    rule: 'adaptiveDegreeDividesSpareRanks',
    layout: { dataParallelDegree: 32, expert: { expertParallelDegree: 8, adaptiveDegree: 3 } },
    facts: EIGHT_EXPERTS,
    message: 'expert.adaptiveDegree 3 does not divide 32 ranks / 8 experts, 4; legal are 0, 1, 2, 4, the nearest is 2',
    waysOut: [0, 1, 2, 4].map((adaptiveDegree) => ({
      layout: { expert: { expertParallelDegree: 8, adaptiveDegree } },
    })),
  },
  {
    rule: 'twoLevelAllToAllNeedsFullNodes',
    layout: {
      tensorParallelDegree: 2,
      contextParallelDegree: 2,
      expert: { expertParallelDegree: 2, dispatcher: 'alltoall-2d' },
    },
    facts: { ...EIGHT_EXPERTS, gpusPerNode: 8 },
    message:
      'expert.dispatcher alltoall-2d needs full nodes, but 4 ranks use 4 of the 8 GPUs of the last node; use alltoall, or 8 ranks',
    waysOut: [
      { layout: { expert: { expertParallelDegree: 2, dispatcher: 'alltoall' } } },
      { layout: { dataParallelDegree: 2 } },
    ],
  },
  {
    rule: 'expertsStayInReplica',
    layout: {
      dataParallelDegree: 16,
      dataParallelShardDegree: 4,
      expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
    },
    facts: { ...EIGHT_EXPERTS, engine: 'torchtitan' },
    message:
      'expert.expertParallelDegree 8 does not divide the 4 ranks of one replica (dataParallelShardDegree times tensorParallelDegree); the nearest that does is 4',
    waysOut: [{ layout: { expert: { expertParallelDegree: 4, expertTensorParallelDegree: 1 } } }],
  },
  {
    rule: 'deepspeedExpertsAreAlone',
    layout: {
      dataParallelDegree: 8,
      expert: { expertParallelDegree: 8 },
      states: { zeroStage: 3, implementation: 'deepspeed' },
    },
    facts: { ...EIGHT_EXPERTS, engine: 'deepspeed' },
    message: 'states.zeroStage 3 cannot be combined with expert parallelism on deepspeed; the nearest is 2',
    waysOut: [{ layout: { states: { zeroStage: 2, implementation: 'deepspeed' } } }],
  },
  {
    rule: 'deepspeedExpertsAreAlone',
    layout: {
      tensorParallelDegree: 2,
      pipelineParallelDegree: 2,
      dataParallelDegree: 4,
      expert: { expertParallelDegree: 4, expertTensorParallelDegree: 1 },
    },
    facts: { ...EIGHT_EXPERTS, engine: 'deepspeed' },
    message: 'expert parallelism with tensorParallelDegree 2 requires pipelineParallelDegree 1 on deepspeed, not 2',
    waysOut: [{ layout: { pipelineParallelDegree: 1 } }],
  },
];

const legal: readonly LegalCase[] = [
  ['every expert for every token', {}, { experts: { count: 8, topK: 8 } }],
  ['experts of one tensor rank on Megatron-LM', {}, { ...EIGHT_EXPERTS, engine: 'megatron-lm' }],
  ['experts split by tensor on another engine', { tensorParallelDegree: 2 }, { ...EIGHT_EXPERTS, engine: 'deepspeed' }],
  [
    'a replica of as many ranks as there are expert ranks',
    {
      dataParallelDegree: 16,
      dataParallelShardDegree: 8,
      expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
    },
    { ...EIGHT_EXPERTS, engine: 'torchtitan-toml' },
  ],
  [
    'ZeRO stage 3 with experts that are not divided, on DeepSpeed',
    {
      dataParallelDegree: 8,
      expert: { expertParallelDegree: 1 },
      states: { zeroStage: 3, implementation: 'deepspeed' },
    },
    { ...EIGHT_EXPERTS, engine: 'deepspeed' },
  ],
];

describe('rules of experts beyond degrees', () => {
  showRules({ rules: expertRules, broken, legal });
});
