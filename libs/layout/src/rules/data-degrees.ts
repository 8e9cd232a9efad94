import { nearestDivisor } from '../nearest.ts';
import type { GridRule } from './grid-rule.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about what data-parallel ranks split. */
export const dataDegreeRules: readonly GridRule[] = [
  {
    name: 'dataTimesMicroBatchDividesGlobalBatch',
    source: 'every engine',
    statement: 'dataParallelDegree times weightShardDegree times microBatchSize divides globalBatchSize',
    holds: (point, facts) => {
      if (facts.globalBatchSize === undefined || point.microBatchSize === undefined) return true;
      return facts.globalBatchSize % (point.data * (point.weightShard ?? 1) * point.microBatchSize) === 0;
    },
    explain: (point, { globalBatchSize = 1 }) => {
      const microBatch = point.microBatchSize ?? 1;
      const shards = point.weightShard ?? 1;
      const perDataRank = globalBatchSize / (microBatch * shards);
      const hint = Number.isInteger(perDataRank)
        ? `the nearest dataParallelDegree that does is ${nearestDivisor(perDataRank, point.data)}`
        : `microBatchSize ${microBatch} alone does not divide it either; change one of the batch sizes`;
      return {
        field: 'dataParallelDegree',
        message:
          `dataParallelDegree ${point.data}${shards === 1 ? '' : ` times weightShardDegree ${shards}`} times microBatchSize ` +
          `${microBatch} is ${point.data * shards * microBatch}, which does not divide globalBatchSize ${globalBatchSize}; ${hint}`,
      };
    },
  },
  {
    name: 'shardDegreeDividesDataRanks',
    source: `${MEGATRON} (distributed optimizer instances); TorchTitan`,
    statement: 'dataParallelShardDegree divides dataParallelDegree times contextParallelDegree',
    holds: (point) => (point.data * point.context) % point.shardGroup === 0,
    explain: (point) => ({
      field: 'dataParallelShardDegree',
      message:
        `dataParallelShardDegree ${point.shardGroup} does not divide dataParallelDegree ${point.data} times contextParallelDegree ` +
        `${point.context}, ${point.data * point.context}; the nearest that does is ` +
        `${nearestDivisor(point.data * point.context, point.shardGroup)}`,
    }),
  },
];
