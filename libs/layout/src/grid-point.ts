import type { LayoutFacts } from './layout-facts.ts';
import type { ParallelLayout } from './parallel-layout.ts';
import type { PipelinePlan } from './pipeline-plan.ts';
import type { ContextAlgorithm } from './sequence-plan.ts';

/** The options of a layout that rules about degrees read. Flat, because a search checks hundreds of thousands. Degrees are at least 1. */
export interface GridPoint {
  readonly tensor: number;
  readonly weightShard?: number;
  readonly context: number;
  readonly pipeline: number;
  readonly data: number;
  /** Ranks, out of data * context, that share one copy of sharded states. */
  readonly shardGroup: number;
  readonly expert: number;
  readonly expertTensor: number;
  readonly expertWeightShard?: number;
  readonly sequenceParallel: boolean;
  readonly contextAlgorithm: ContextAlgorithm;
  /** Ranks of the all-to-all part of ulysses-ring. */
  readonly ulyssesDegree?: number;
  /** Whether a rank has two pieces of each sample, an early and a late one. Absent: true. */
  readonly contextBalanced?: boolean;
  readonly schedule: NonNullable<PipelinePlan['schedule']>;
  readonly chunks: number;
  readonly microBatchGroup?: number;
  readonly stages?: readonly NonNullable<PipelinePlan['stages']>[number][] | undefined;
  readonly vocabulary: NonNullable<PipelinePlan['vocabulary']>;
  /** Samples per forward pass; undefined if the batch is unknown. */
  readonly microBatchSize: number | undefined;
}

/** The grid point of a layout, which rules about degrees read. */
export function gridPointOf(layout: ParallelLayout, facts: LayoutFacts): GridPoint {
  const { expert, pipeline, sequence } = layout;
  const context = layout.contextParallelDegree ?? 1;
  const chunks = pipeline?.chunksPerRank ?? 1;
  return {
    tensor: layout.tensorParallelDegree,
    weightShard: layout.weightShardDegree ?? 1,
    context,
    pipeline: layout.pipelineParallelDegree,
    data: layout.dataParallelDegree,
    shardGroup: layout.dataParallelShardDegree ?? layout.dataParallelDegree * context,
    expert: expert?.expertParallelDegree ?? 1,
    expertTensor: expert === undefined ? 1 : (expert.expertTensorParallelDegree ?? layout.tensorParallelDegree),
    expertWeightShard: expert?.weightShardDegree ?? 1,
    sequenceParallel: sequence?.sequenceParallel ?? false,
    contextAlgorithm: sequence?.perLayerKind?.attention ?? sequence?.contextAlgorithm ?? 'ring',
    ...(sequence?.ulyssesDegree === undefined ? {} : { ulyssesDegree: sequence.ulyssesDegree }),
    contextBalanced: takesTwoPieces(sequence?.contextAlgorithm ?? 'ring', sequence?.causalBalance),
    schedule: pipeline?.schedule ?? (chunks > 1 ? 'interleaved-1f1b' : '1f1b'),
    chunks,
    ...(pipeline?.microBatchGroupSize === undefined ? {} : { microBatchGroup: pipeline.microBatchGroupSize }),
    ...(pipeline?.stages === undefined ? {} : { stages: pipeline.stages }),
    vocabulary: pipeline?.vocabulary ?? 'end-stages',
    microBatchSize: facts.microBatchSize,
  };
}

/** Micro-batches of one data-parallel rank per step; undefined if the batch is unknown or does not divide. */
export function microBatchesOf(point: GridPoint, facts: LayoutFacts): number | undefined {
  if (facts.globalBatchSize === undefined || point.microBatchSize === undefined) return undefined;
  const count = facts.globalBatchSize / (point.microBatchSize * point.data * (point.weightShard ?? 1));
  return Number.isInteger(count) ? count : undefined;
}

const UNBALANCED: ReadonlySet<ContextAlgorithm> = new Set([
  'ring-self-attention',
  'dist-flash',
  'state-allgather',
  'state-scan',
]);

function takesTwoPieces(algorithm: ContextAlgorithm, balance: string | undefined): boolean {
  if (balance !== undefined) return balance === 'head-tail' || balance === 'zigzag';
  return !UNBALANCED.has(algorithm);
}
