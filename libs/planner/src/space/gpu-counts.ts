/** Numbers of GPUs that a plan may use. */
import { divisorsOf } from '@coxswain/layout';
import type { ResolvedRequest } from '../request/resolved-request.ts';

/**
 * The numbers of GPUs to search, fewest first. Objectives `time` and `memory` use all GPUs; `cost` and `gpus` every number that divides the cluster into
 * equal groups of whole nodes, or one node into equal parts.
 */
export function gpuCountsOf({ request, run }: ResolvedRequest): readonly number[] {
  const { gpus, gpusPerNode } = run.cluster;
  if (request.objective === 'time' || request.objective === 'memory') return [gpus];
  if (gpus <= gpusPerNode || gpus % gpusPerNode !== 0) return divisorsOf(gpus);
  const withinNode = divisorsOf(gpusPerNode).filter((count) => count < gpusPerNode);
  return [...withinNode, ...divisorsOf(gpus / gpusPerNode).map((nodes) => nodes * gpusPerNode)];
}
