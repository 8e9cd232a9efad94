/** On how many GPUs may a training run? */
import { divisorsOf } from '@coxswain/layout';
import type { ResolvedRequest } from '../request/resolved-request.ts';

/**
 * Objectives of time and memory use all GPUs. Of cost and fewest GPUs, every count that divides the cluster into equal whole nodes, or a single
 * node into equal parts; fewest first.
 */
export function gpuCountsOf({ request, run }: ResolvedRequest): readonly number[] {
  const { gpus, gpusPerNode } = run.cluster;
  if (request.objective === 'time' || request.objective === 'memory') return [gpus];
  if (gpus <= gpusPerNode || gpus % gpusPerNode !== 0) return divisorsOf(gpus);
  const withinNode = divisorsOf(gpusPerNode).filter((count) => count < gpusPerNode);
  return [...withinNode, ...divisorsOf(gpus / gpusPerNode).map((nodes) => nodes * gpusPerNode)];
}
