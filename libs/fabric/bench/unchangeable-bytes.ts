import { BOUNDARY_WEIGHTS } from '../src/traffic/boundary-weights.ts';
import type { Fabric } from '../src/nodes/fabric.ts';
import type { GangShape } from '../src/traffic/gang-shape.ts';
import { bytesBetweenRuns, fixedBytes } from '../src/bound/lower-bound.ts';
import type { LayoutTraffic } from '../src/traffic/traffic.ts';

/** Weighted bytes that are the same wherever the pods are: over GPUs and nodes, and over NVLink domains where each is one node. */
export function unchangeableBytes(shape: GangShape, traffic: LayoutTraffic, { nodes }: Fabric): number {
  const isEachAlone = new Set(nodes.map(({ nvlinkDomain }) => nvlinkDomain)).size === nodes.length;
  const overDomains = isEachAlone ? BOUNDARY_WEIGHTS.nvlinkDomain * bytesBetweenRuns(traffic, shape.ranksPerPod) : 0;
  return fixedBytes(shape, traffic) + overDomains;
}
