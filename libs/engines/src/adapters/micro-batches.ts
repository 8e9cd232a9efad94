import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec } from '@coxswain/api-types';

/** How the samples of a step reach a data-parallel rank. */
export interface Batch {
  readonly global: number;
  /** Samples of one forward pass. */
  readonly micro: number;
  /** Samples of a step that one data-parallel rank sees. */
  readonly perRank: number;
  /** Forward passes of a step. */
  readonly passes: number;
}

/** Undefined for a job without `training`. */
export function batchOf({ training, layout }: EffectiveSpec): Batch | undefined {
  if (training === undefined) return undefined;
  const { globalBatchSize: global, microBatchSize: micro = DEFAULT_MICRO_BATCH_SIZE } = training;
  const perRank = global / layout.dataParallelDegree;
  return { global, micro, perRank, passes: perRank / micro };
}
