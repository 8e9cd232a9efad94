import { assumedTraffic } from './assumed-traffic.ts';
import type { FabricCapacity } from './fabric.ts';
import { type GangRequest, gangShape } from './gang-shape.ts';
import { lowerBound } from './lower-bound.ts';
import { openNodes } from './open-nodes.ts';

/**
 * The least weighted bytes that any placement of the gang with so many ranks in a pod could have now, as `weightedBytes` counts them. None need reach it;
 * docs/reference/placement.md says how it is proved. `known`: weighted bytes of a placement that there is, which the bound is brought up to if it can be.
 */
export function leastWeightedBytes(
  request: GangRequest,
  ranksPerPod: number,
  capacity: FabricCapacity,
  known?: number,
): number {
  const { layout, traffic = assumedTraffic(layout), acrossIslands = 'never' } = request;
  const question = { shape: gangShape(layout, ranksPerPod), traffic, open: openNodes(capacity), acrossIslands };
  return lowerBound(known === undefined ? question : { ...question, known });
}
