import { layoutViolations } from '../index.ts';
import { aLayout } from '../testing/index.ts';
import {
  DENSE,
  EIGHT_EXPERTS,
  type LegalCase,
  type RuleCase,
  showRules,
  TWELVE_HEADS,
  TWO_ISLANDS,
} from '../testing/rule-cases.ts';
import { adviceRules } from './advice-rules.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'chattyGroupsStayInDomain',
    layout: { tensorParallelDegree: 16 },
    facts: { keyValueHeads: 16, scaleUpDomainGpus: 8 },
    message: 'tensorParallelDegree 16 is more than the 8 GPUs of an NVLink domain; the largest divisor that fits is 8',
    waysOut: [{ layout: { tensorParallelDegree: 8 } }],
  },
  {
    rule: 'chattyGroupsStayInDomain',
    layout: { tensorParallelDegree: 12 },
    facts: { ...TWELVE_HEADS, scaleUpDomainGpus: 5 },
    message: 'tensorParallelDegree 12 is more than the 5 GPUs of an NVLink domain; the largest divisor that fits is 4',
    waysOut: [{ layout: { tensorParallelDegree: 4 } }],
  },
  {
    rule: 'chattyGroupsStayInDomain',
    layout: { tensorParallelDegree: 16 },
    facts: { keyValueHeads: 16, scaleUpDomainGpus: 7 },
    message: 'tensorParallelDegree 16 is more than the 7 GPUs of an NVLink domain; the largest divisor that fits is 4',
    waysOut: [{ layout: { tensorParallelDegree: 4 } }],
  },
  {
    rule: 'chattyGroupsStayInDomain',
    layout: { tensorParallelDegree: 4, contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } },
    facts: { keyValueHeads: 32, scaleUpDomainGpus: 8 },
    message:
      'the all-to-all of 8 context ranks times tensorParallelDegree 4 needs more than the 8 GPUs of an NVLink domain; use smaller degrees',
    waysOut: [
      { layout: { contextParallelDegree: 2 } },
      { layout: { sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 2 } } },
      { layout: { sequence: { contextAlgorithm: 'ring' } } },
    ],
  },
  {
    rule: 'chattyGroupsStayInDomain',
    layout: { dataParallelDegree: 16, expert: { expertParallelDegree: 16 } },
    facts: { experts: { count: 16, topK: 2 }, scaleUpDomainGpus: 8 },
    message: 'experts over 16 ranks need more than the 8 GPUs of an NVLink domain; use a smaller expertParallelDegree',
    waysOut: [{ layout: { expert: { expertParallelDegree: 8 } } }],
  },
  {
    rule: 'islandsMeetInThePipeline',
    layout: { dataParallelDegree: 16 },
    facts: TWO_ISLANDS,
    message:
      'data groups span islands of different networks and fall back to sockets; put data before pipeline in rankOrder, and make whole pipeline stages fit into an island',
    waysOut: [{ layout: { dataParallelDegree: 8, pipelineParallelDegree: 2 } }],
  },
  {
    rule: 'shardingNeedsDataRanks',
    layout: { states: { zeroStage: 1, implementation: 'distributed-optimizer' } },
    message: 'states.zeroStage 1 shards states over 1 rank, which saves no memory; use 0, or more data ranks',
    waysOut: [{ layout: { dataParallelDegree: 2 } }, { layout: { contextParallelDegree: 2 } }, { without: 'states' }],
  },
  {
    rule: 'sequenceParallelNeedsTensor',
    layout: { sequence: { sequenceParallel: true } },
    message: 'sequence.sequenceParallel does nothing with tensorParallelDegree 1',
    waysOut: [{ layout: { tensorParallelDegree: 2 } }, { without: 'sequence' }],
  },
  {
    rule: 'flashAttentionIsNotRecomputed',
    layout: { kernel: { attention: 'flash' }, memory: { recompute: { mode: 'selective' } } },
    message: 'memory.recompute of core_attn saves no memory with kernel.attention flash; list other modules',
    waysOut: [{ layout: { memory: { recompute: { mode: 'selective', modules: ['mlp'] } } } }, { without: 'kernel' }],
  },
  {
    rule: 'gpipeKeepsEveryMicroBatch',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'gpipe' } },
    message: 'pipeline.schedule gpipe keeps the activations of every micro-batch; 1f1b keeps those of 4',
    waysOut: [{ layout: { pipeline: { schedule: '1f1b' } } }],
  },
];

const legal: readonly LegalCase[] = [
  ['a tensor group that fills a domain', { tensorParallelDegree: 8 }, { scaleUpDomainGpus: 8 }],
  [
    'experts that fill a domain',
    { dataParallelDegree: 8, expert: { expertParallelDegree: 8 } },
    { ...EIGHT_EXPERTS, scaleUpDomainGpus: 8 },
  ],
  ['gpipe without a pipeline', { pipeline: { schedule: 'gpipe' } }],
];

describe('advice', () => {
  showRules({ rules: adviceRules, broken, legal });

  it.each(broken)('makes no layout illegal: $message', ({ layout, facts }) => {
    expect(layoutViolations(aLayout(layout), { ...DENSE, ...facts })).toEqual([]);
  });
});
