import { bestOfAll } from '../best-placement.ts';
import type { GangRequest } from '../gang-shape.ts';
import type { OpenNode } from '../open-nodes.ts';
import type { LayoutTraffic } from '../traffic.ts';

/** Weighted bytes of the best placement there is, however long that takes; undefined where there is none. */
export function bestPlacementCost(
  request: GangRequest & { readonly traffic: LayoutTraffic },
  ranksPerPod: number,
  open: readonly OpenNode[],
): number | undefined {
  return bestOfAll(request, ranksPerPod, open, Infinity).cost;
}
