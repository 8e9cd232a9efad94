import type { FabricNode } from '@coxswain/fabric';

/** GPUs of the largest node and of the largest NVLink domain: what a layout may count on at most. */
export function largestOf(nodes: readonly FabricNode[]): {
  readonly gpusPerNode: number;
  readonly scaleUpDomainGpus: number;
} {
  const ofDomain = new Map<string, number>();
  let [gpusPerNode, scaleUpDomainGpus] = [0, 0];
  for (const { nvlinkDomain, gpus } of nodes) {
    const inDomain = (ofDomain.get(nvlinkDomain) ?? 0) + gpus;
    ofDomain.set(nvlinkDomain, inDomain);
    gpusPerNode = Math.max(gpusPerNode, gpus);
    scaleUpDomainGpus = Math.max(scaleUpDomainGpus, inDomain);
  }
  return { gpusPerNode, scaleUpDomainGpus };
}
