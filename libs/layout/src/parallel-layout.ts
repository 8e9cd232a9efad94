import { z } from 'zod';

/** Largest gang a layout may describe. 16,384 GPUs is the bar of the design; one doubling above it is the limit. */
export const MAX_WORLD_SIZE = 32_768;

const degree = z.int().min(1).max(MAX_WORLD_SIZE);

/**
 * How a job's ranks are divided: ways of tensor, pipeline and data parallelism. Their product is the world size (one rank per GPU).
 *
 * Other axes (context, expert, sharded data parallel) join as further optional degrees with default 1.
 */
export const ParallelLayout = z
  .strictObject({
    tensorParallelDegree: degree
      .default(1)
      .describe('Ways each layer is split; these ranks must share an NVLink domain.'),
    pipelineParallelDegree: degree.default(1).describe('Consecutive groups of layers, each on ranks of its own.'),
    dataParallelDegree: degree.default(1).describe('Replicas that each take a share of the global batch.'),
  })
  .meta({
    id: 'ParallelLayout',
    description: 'How the ranks of a job are divided; the product of the degrees is its world size.',
  });
export type ParallelLayout = z.infer<typeof ParallelLayout>;

/** Number of ranks, one per GPU. */
export function worldSize(layout: ParallelLayout): number {
  return layout.tensorParallelDegree * layout.pipelineParallelDegree * layout.dataParallelDegree;
}

/** `tp2 x dp2`: the degrees above 1 in rank order, or `1 rank`. */
export function formatLayout(layout: ParallelLayout): string {
  const parts = [
    ['tp', layout.tensorParallelDegree],
    ['dp', layout.dataParallelDegree],
    ['pp', layout.pipelineParallelDegree],
  ] as const;
  const shown = parts.filter(([, ways]) => ways > 1).map(([axis, ways]) => `${axis}${ways}`);
  return shown.length === 0 ? '1 rank' : shown.join(' x ');
}
