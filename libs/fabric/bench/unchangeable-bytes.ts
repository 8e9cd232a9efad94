import { BOUNDARY_WEIGHTS } from '../src/boundary-weights.ts';
import type { Fabric } from '../src/fabric.ts';
import type { GangShape } from '../src/gang-shape.ts';
import { bytesBetweenRuns, fixedBytes } from '../src/lower-bound.ts';
import type { LayoutTraffic } from '../src/traffic.ts';

/** Weighted bytes that are the same wherever the pods are: over GPUs and nodes, and over NVLink domains where each is one node. */
export function unchangeableBytes(shape: GangShape, traffic: LayoutTraffic, { nodes }: Fabric): number {
  const isEachAlone = new Set(nodes.map(({ nvlinkDomain }) => nvlinkDomain)).size === nodes.length;
  const overDomains = isEachAlone ? BOUNDARY_WEIGHTS.nvlinkDomain * bytesBetweenRuns(traffic, shape.ranksPerPod) : 0;
  return fixedBytes(shape, traffic) + overDomains;
}
