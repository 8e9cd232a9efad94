import { type LegalCase, type RuleCase, showRules, TWO_ISLANDS } from '../testing/rule-cases.ts';
import { networkRules } from './network-rules.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'groupsAcrossIslandsUseSockets',
    layout: {
      dataParallelDegree: 8,
      pipelineParallelDegree: 2,
      communication: { groupNetwork: { data: 'infiniband', pipeline: 'infiniband' } },
    },
    facts: TWO_ISLANDS,
    message:
      'communication.groupNetwork.pipeline is infiniband, but pipeline groups span islands of different networks; use socket',
    waysOut: [{ layout: { communication: { groupNetwork: { data: 'infiniband', pipeline: 'socket' } } } }],
  },
];

const legal: readonly LegalCase[] = [
  [
    'islands that meet in the pipeline, over sockets',
    { dataParallelDegree: 8, pipelineParallelDegree: 2, communication: { groupNetwork: { pipeline: 'socket' } } },
    TWO_ISLANDS,
  ],
  [
    'groups over nodes of one network',
    { dataParallelDegree: 16, communication: { groupNetwork: { data: 'roce' } } },
    {
      gpusPerNode: 8,
      islands: [
        { nodes: 1, network: 'roce' },
        { nodes: 1, network: 'roce' },
      ],
    },
  ],
];

describe('rules of machines and networks', () => {
  showRules({ rules: networkRules, broken, legal });
});
