import { groupsOfAxis, type ParallelLayout, worldSize } from '@coxswain/layout';
import type { NodeDemand } from './node-demand.ts';
import type { StageGpus } from './stage-gpus.ts';
import type { LayoutTraffic } from './traffic.ts';

/** A gang to be placed. */
export interface GangRequest {
  readonly layout: ParallelLayout;
  /** Ranks per pod; default: as many as the nodes have GPUs, at most the world size. */
  readonly gpusPerNode?: number;
  /** Absent: GPUs alone. The fabric that it is placed on holds no other nodes than such. */
  readonly demand?: NodeDemand;
  /** Samples of a step, and of a pass of one replica; absent: not known, and any data-parallel degree counts as one that could be chosen. */
  readonly batch?: { readonly globalBatchSize: number; readonly microBatchSize: number };
  /**
   * What its ranks send each other, or how to make it where it is needed: of many more ranks than there are GPUs that takes minutes, and more memory than
   * there is. Absent: that of a usual model.
   */
  readonly traffic?: LayoutTraffic | (() => LayoutTraffic);
  /** The GPU type of consecutive stages, for a pipeline over several types; they add up to the pipeline. If absent, GPUs of one type if it has enough. */
  readonly stageGpus?: readonly StageGpus[];
  /** Which groups may have members on two islands, where none holds the gang (`across-islands.ts`). Absent: never. */
  readonly acrossIslands?: AcrossIslands;
}

/** never: the whole gang is in one island. pipeline: stages may be in several of one NIC class, each in one. anyGroup: an island is only farther away. */
export type AcrossIslands = 'never' | 'pipeline' | 'anyGroup';

/**
 * A gang as rows of pods. Unless `rankOrder` says otherwise, ranks count tensor index fastest and pipeline index slowest, and pod `i` holds ranks `[i * r, (i + 1) * r)`. So
 *
 * - a *block* is the shortest run of pods that begins and ends at the boundary of a tensor group: lcm(r, tp) / r pods. All of a block must
 *   share an NVLink domain, because neighbours in it share a tensor group. With ulysses-ring the ranks of an inner all-to-all and their tensor groups
 *   count as one such group ({@link ranksInDomain}).
 * - a *row* is the shortest run of pods that begins and ends at the boundary of a pipeline stage: lcm(r, ranks of a stage) / r pods, a whole
 *   number of blocks. All of a row must share an island.
 *
 * The gang is `rows` whole rows and a *rest*: `restBlocks` whole blocks and `restPods` further pods. The last pod may hold fewer ranks.
 */
export interface GangShape {
  readonly layout: ParallelLayout;
  readonly worldSize: number;
  readonly ranksPerPod: number;
  readonly pods: number;
  readonly podsPerBlock: number;
  readonly blocksPerRow: number;
  readonly rows: number;
  readonly restBlocks: number;
  readonly restPods: number;
  /** Ranks of the very last pod. */
  readonly lastPodRanks: number;
}

/** Cuts a layout into pods of `ranksPerPod` consecutive ranks. The last pod takes the rest. */
export function gangShape(layout: ParallelLayout, ranksPerPod: number): GangShape {
  const ranks = worldSize(layout);
  const { inDomain, stage } = runsOf(layout);
  const pods = Math.ceil(ranks / ranksPerPod);
  const fullPods = Math.floor(ranks / ranksPerPod);
  const podsPerBlock = inDomain / greatestCommonDivisor(ranksPerPod, inDomain);
  const podsPerRow = stage / greatestCommonDivisor(ranksPerPod, stage);
  const rows = Math.floor(fullPods / podsPerRow);
  const restBlocks = Math.floor((fullPods - rows * podsPerRow) / podsPerBlock);
  return {
    layout,
    worldSize: ranks,
    ranksPerPod,
    pods,
    podsPerBlock,
    blocksPerRow: podsPerRow / podsPerBlock,
    rows,
    restBlocks,
    restPods: pods - rows * podsPerRow - restBlocks * podsPerBlock,
    lastPodRanks: ranks - (pods - 1) * ranksPerPod,
  };
}

/** Ranks that exchange in every layer and so share an NVLink domain: tensor groups, those of one inner all-to-all of ulysses-ring together. */
export function ranksInDomain(layout: ParallelLayout): number {
  return layout.tensorParallelDegree * innerUlyssesDegree(layout);
}

/** Context ranks of the all-to-all inside ulysses-ring, whose ring takes the rest; 1 for every other algorithm. */
export function innerUlyssesDegree({ sequence }: ParallelLayout): number {
  return sequence?.contextAlgorithm === 'ulysses-ring' ? (sequence.ulyssesDegree ?? 1) : 1;
}

/**
 * Ranks of the shortest aligned runs that cut no group of an NVLink domain and no pipeline stage: more than they hold where `rankOrder` puts other
 * axes between. Of two axes' groups the run of the slower axis holds whole ones of the faster.
 */
function runsOf(layout: ParallelLayout): { readonly inDomain: number; readonly stage: number } {
  const { tensorParallelDegree, pipelineParallelDegree, rankOrder } = layout;
  const inner = innerUlyssesDegree(layout);
  const ranks = worldSize(layout);
  const stage = ranks / pipelineParallelDegree;
  if (rankOrder === undefined && inner === 1) return { inDomain: tensorParallelDegree, stage };
  const stride = (axis: 'tensor' | 'context' | 'pipeline'): number => groupsOfAxis(layout, axis)[0]?.[1] ?? 1;
  const spanOf = (axis: 'tensor' | 'context', degree: number): number => (degree === 1 ? 1 : degree * stride(axis));
  const isStageWhole = pipelineParallelDegree === 1 || stride('pipeline') === stage;
  return {
    inDomain: Math.max(spanOf('tensor', tensorParallelDegree), spanOf('context', inner)),
    stage: isStageWhole ? stage : ranks,
  };
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other);
}
