import { type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { dataDegreeRules } from './data-degrees.ts';

const broken: readonly RuleCase[] = [
  {
    rule: 'dataTimesMicroBatchDividesGlobalBatch',
    layout: { dataParallelDegree: 3 },
    message:
      'dataParallelDegree 3 times microBatchSize 1 is 3, which does not divide globalBatchSize 64; the nearest dataParallelDegree that does is 2',
    waysOut: [{ layout: { dataParallelDegree: 2 } }],
  },
  {
    rule: 'dataTimesMicroBatchDividesGlobalBatch',
    layout: { dataParallelDegree: 32 },
    facts: { microBatchSize: 4 },
    message:
      'dataParallelDegree 32 times microBatchSize 4 is 128, which does not divide globalBatchSize 64; the nearest dataParallelDegree that does is 16',
    waysOut: [{ layout: { dataParallelDegree: 16 } }],
  },
  {
    rule: 'dataTimesMicroBatchDividesGlobalBatch',
    layout: { dataParallelDegree: 3, weightShardDegree: 2 },
    message:
      'dataParallelDegree 3 times weightShardDegree 2 times microBatchSize 1 is 6, which does not divide globalBatchSize 64; the nearest dataParallelDegree that does is 2',
    waysOut: [{ layout: { dataParallelDegree: 2 } }],
  },
  {
    rule: 'dataTimesMicroBatchDividesGlobalBatch',
    layout: { dataParallelDegree: 2, weightShardDegree: 3 },
    message:
      'dataParallelDegree 2 times weightShardDegree 3 times microBatchSize 1 is 6, which does not divide globalBatchSize 64; microBatchSize 1 alone does not divide it either; change one of the batch sizes',
    waysOut: [{ facts: { globalBatchSize: 66 } }],
  },
  {
    rule: 'shardDegreeDividesDataRanks',
    layout: { dataParallelDegree: 8, dataParallelShardDegree: 3 },
    message:
      'dataParallelShardDegree 3 does not divide dataParallelDegree 8 times contextParallelDegree 1, 8; the nearest that does is 2',
    waysOut: [{ layout: { dataParallelShardDegree: 2 } }],
  },
  {
    rule: 'shardDegreeDividesDataRanks',
    layout: { dataParallelDegree: 4, contextParallelDegree: 2, dataParallelShardDegree: 16 },
    message:
      'dataParallelShardDegree 16 does not divide dataParallelDegree 4 times contextParallelDegree 2, 8; the nearest that does is 8',
    waysOut: [{ layout: { dataParallelShardDegree: 8 } }],
  },
];

const legal: readonly LegalCase[] = [
  ['one sample for each data rank', { dataParallelDegree: 64 }],
  [
    'a shard group over data and context ranks',
    { dataParallelDegree: 4, contextParallelDegree: 2, dataParallelShardDegree: 8 },
  ],
  ['any data degree where no batch is known', { dataParallelDegree: 7 }, { globalBatchSize: undefined }],
];

describe('rules of what data-parallel ranks split', () => {
  showRules({ rules: dataDegreeRules, broken, legal });
});
