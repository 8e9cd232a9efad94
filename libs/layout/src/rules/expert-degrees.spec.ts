import { EIGHT_EXPERTS, type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { expertDegreeRules } from './expert-degrees.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'expertGridFillsStage',
    layout: {
      pipelineParallelDegree: 8,
      dataParallelDegree: 8,
      expert: { expertParallelDegree: 64, expertTensorParallelDegree: 1 },
    },
    facts: { experts: { count: 64, topK: 2 } },
    message:
      'expert.expertParallelDegree 64 times expertTensorParallelDegree 1 is 64, which does not divide the 8 ranks of a pipeline stage; the nearest expertParallelDegree that does is 8',
    waysOut: [{ layout: { expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 } } }],
  },
  {
    rule: 'expertGridFillsStage',
    layout: {
      dataParallelDegree: 8,
      expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1, weightShardDegree: 2 },
    },
    facts: EIGHT_EXPERTS,
    message:
      'expert.expertParallelDegree 8 times expertTensorParallelDegree 1 times weightShardDegree 2 is 16, which does not divide the 8 ranks of a pipeline stage; the nearest expertParallelDegree that does is 4',
    waysOut: [{ layout: { expert: { expertParallelDegree: 4, expertTensorParallelDegree: 1, weightShardDegree: 2 } } }],
  },
  {
    rule: 'expertGridFillsStage',
    layout: { dataParallelDegree: 8, expert: { expertParallelDegree: 2, expertTensorParallelDegree: 3 } },
    facts: { experts: { count: 8, topK: 2, ffnHiddenSize: 1536 } },
    message:
      'expert.expertParallelDegree 2 times expertTensorParallelDegree 3 is 6, which does not divide the 8 ranks of a pipeline stage; expertTensorParallelDegree must divide them first; the nearest that does is 2',
    waysOut: [{ layout: { expert: { expertParallelDegree: 2, expertTensorParallelDegree: 2 } } }],
  },
  {
    rule: 'expertParallelDividesExperts',
    layout: { dataParallelDegree: 16, expert: { expertParallelDegree: 16 } },
    facts: EIGHT_EXPERTS,
    message: 'expert.expertParallelDegree 16 does not divide experts.count 8; the nearest that does is 8',
    waysOut: [{ layout: { expert: { expertParallelDegree: 8 } } }],
  },
  {
    rule: 'expertParallelDividesExperts',
    layout: { dataParallelDegree: 8, expert: { expertParallelDegree: 8 } },
    message: 'expert.expertParallelDegree 8 needs a model with experts, and this model has none; remove expert',
    waysOut: [{ without: 'expert' }],
  },
  {
    rule: 'expertTensorDividesExpertFfn',
    layout: { dataParallelDegree: 12, expert: { expertParallelDegree: 1, expertTensorParallelDegree: 4 } },
    facts: { globalBatchSize: 72, experts: { count: 8, topK: 2, ffnHiddenSize: 1407 } },
    message:
      'expert.expertTensorParallelDegree 4 does not divide experts.ffnHiddenSize 1407; the nearest that does is 3',
    waysOut: [{ layout: { expert: { expertParallelDegree: 1, expertTensorParallelDegree: 3 } } }],
  },
];

const legal: readonly LegalCase[] = [
  ['an expert for each rank', { dataParallelDegree: 8, expert: { expertParallelDegree: 8 } }, EIGHT_EXPERTS],
  [
    'folded experts, whose degrees are other than those of the dense layers',
    {
      tensorParallelDegree: 2,
      contextParallelDegree: 2,
      dataParallelDegree: 2,
      pipelineParallelDegree: 2,
      sequence: { sequenceParallel: true },
      expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
    },
    { ...EIGHT_EXPERTS, engine: 'megatron-lm' },
  ],
  ['experts on one rank of a model without them', { expert: { expertParallelDegree: 1 } }],
];

describe('rules of what expert ranks split', () => {
  showRules({ rules: expertDegreeRules, broken, legal });
});
