import { EIGHT_EXPERTS, type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { rankRules } from './rank-rules.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'worldSizeWithinLimit',
    layout: { tensorParallelDegree: 8, dataParallelDegree: 8192 },
    facts: { globalBatchSize: 8192 },
    message:
      'the product of the degrees is 65536 GPUs; at most 32768 are supported, so the largest dataParallelDegree is 4096',
    waysOut: [{ layout: { dataParallelDegree: 4096 } }],
  },
  {
    rule: 'worldSizeWithinLimit',
    layout: { tensorParallelDegree: 32, contextParallelDegree: 64, pipelineParallelDegree: 32 },
    message:
      'the product of the degrees is 65536 GPUs; at most 32768 are supported, and the degrees other than dataParallelDegree make 65536 already; make one of them smaller',
    waysOut: [{ layout: { contextParallelDegree: 32 } }, { layout: { pipelineParallelDegree: 16 } }],
  },
  {
    rule: 'degreesMakeTheGpus',
    layout: { tensorParallelDegree: 8, dataParallelDegree: 2 },
    facts: { gpus: 64 },
    message: 'the degrees multiply to 16 ranks, but there are 64 GPUs; use dataParallelDegree 8',
    waysOut: [{ layout: { dataParallelDegree: 8 } }],
  },
  {
    rule: 'degreesMakeTheGpus',
    layout: { tensorParallelDegree: 8, dataParallelDegree: 8 },
    facts: { gpus: 60 },
    message:
      'the degrees multiply to 64 ranks, but there are 60 GPUs; the nearest number of GPUs that the other degrees divide is 64',
    waysOut: [{ facts: { gpus: 64 } }],
  },
  {
    rule: 'rankOrderNamesEveryAxis',
    layout: { tensorParallelDegree: 2, dataParallelDegree: 2, rankOrder: ['tensor', 'context', 'expert', 'pipeline'] },
    message: 'rankOrder leaves out data; a legal order is tensor, context, expert, pipeline, data',
    waysOut: [{ layout: { rankOrder: ['tensor', 'context', 'expert', 'pipeline', 'data'] } }],
  },
  {
    rule: 'rankOrderNamesEveryAxis',
    layout: { tensorParallelDegree: 2, dataParallelDegree: 2, rankOrder: ['tensor', 'data', 'tensor'] },
    message: 'rankOrder names tensor twice; a legal order is tensor, data',
    waysOut: [{ layout: { rankOrder: ['tensor', 'data'] } }],
  },
  {
    rule: 'expertsShareThePipeline',
    layout: {
      tensorParallelDegree: 2,
      dataParallelDegree: 4,
      pipelineParallelDegree: 2,
      expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
      rankOrder: ['tensor', 'context', 'expert', 'pipeline', 'data'],
    },
    facts: EIGHT_EXPERTS,
    message:
      'rankOrder puts data after pipeline, but experts have 1 replicas and dense layers have 4; put pipeline last, or make expertParallelDegree times expertTensorParallelDegree 2',
    waysOut: [
      { layout: { rankOrder: ['tensor', 'context', 'expert', 'data', 'pipeline'] } },
      { layout: { expert: { expertParallelDegree: 2, expertTensorParallelDegree: 1 } } },
    ],
  },
];

const legal: readonly LegalCase[] = [
  ['as many ranks as are supported', { dataParallelDegree: 32_768 }, { globalBatchSize: 32_768 }],
  ['as many ranks as there are GPUs', { tensorParallelDegree: 8, dataParallelDegree: 8 }, { gpus: 64 }],
  [
    'an order that leaves out axes of one rank',
    { tensorParallelDegree: 2, dataParallelDegree: 2, rankOrder: ['data', 'tensor'] },
  ],
  [
    'a pipeline before data, without experts',
    { dataParallelDegree: 4, pipelineParallelDegree: 2, rankOrder: ['tensor', 'pipeline', 'data'] },
  ],
];

describe('rules of the number and order of ranks', () => {
  showRules({ rules: rankRules, broken, legal });
});
