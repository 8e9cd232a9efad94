import type { PlanRequest } from '@coxswain/planner';
import { gpuOf } from '@coxswain/planner/presets';

/** The network between nodes that is assumed because the request leaves its speed open; undefined if nothing is assumed. */
export function assumedNetwork({ cluster }: Pick<PlanRequest, 'cluster'>): string | undefined {
  const { gpu, gpus, islands, scaleOutGbPerS, scaleUpDomainGpus, nicKind } = cluster;
  const preset = gpuOf(gpu);
  const together = Math.max(cluster.gpusPerNode ?? preset.gpusPerNode, scaleUpDomainGpus ?? preset.scaleUpDomainGpus);
  if (gpus <= together || scaleOutGbPerS !== undefined || islands !== undefined) return undefined;
  return `Assumed: ${preset.nicGbps} Gb/s of ${nicKind ?? preset.nicKind} per GPU between nodes, as is usual for ${preset.name}; name yours with --nic-gbps.`;
}
