import type { FabricNode } from '../fabric.ts';
import { gangShape, type GangRequest, type GangShape } from '../gang-shape.ts';
import { placementCost } from '../least-crossing.ts';
import type { OpenNode } from '../open-nodes.ts';
import type { LayoutTraffic } from '../traffic.ts';

/**
 * Weighted bytes of the best placement there is, by trying every one; undefined where there is none. Nodes that differ in nothing but their names are
 * tried once. For a handful of pods.
 */
export function bestPlacementCost(
  request: GangRequest & { readonly traffic: LayoutTraffic },
  ranksPerPod: number,
  open: readonly OpenNode[],
): number | undefined {
  const shape = gangShape(request.layout, ranksPerPod);
  const fabric = { nodes: open.map(({ node }) => node) };
  const inDomain = Map.groupBy(open, ({ node }) => node.nvlinkDomain);
  const kinds = open.map(({ node: { nvlinkDomain, island, switches }, free }) =>
    JSON.stringify([inDomain.get(nvlinkDomain)?.length === 1 ? null : nvlinkDomain, island, switches, free]),
  );
  let best: number | undefined;
  const choose = (chosen: readonly OpenNode[]): void => {
    if (chosen.length === shape.pods) {
      const cost = placementCost(
        { shape, traffic: request.traffic, fabric },
        chosen.map(({ node }) => node.name),
      );
      best = Math.min(best ?? Infinity, cost);
      return;
    }
    const tried = new Set<string>();
    for (const [at, one] of open.entries()) {
      const kind = kinds[at] ?? '';
      if (tried.has(kind) || chosen.includes(one)) continue;
      if (
        !mayFollow(
          { shape, request },
          chosen.map(({ node }) => node),
          one,
        )
      )
        continue;
      tried.add(kind);
      choose([...chosen, one]);
    }
  };
  choose([]);
  return best;
}

/** Whether the next pod may be there: room, and its tensor groups and stages together, by the ranks of each group. */
function mayFollow(
  { shape, request }: { readonly shape: GangShape; readonly request: GangRequest },
  chosen: readonly FabricNode[],
  { node, free }: OpenNode,
): boolean {
  const pod = chosen.length;
  const first = pod * shape.ranksPerPod;
  const last = Math.min(shape.worldSize, first + shape.ranksPerPod) - 1;
  if (free <= last - first) return false;
  const nodeOf = (rank: number): FabricNode | undefined => chosen[Math.floor(rank / shape.ranksPerPod)];
  const together = (size: number, alike: (other: FabricNode) => boolean): boolean => {
    const before = nodeOf(first - (first % size));
    return first % size === 0 || before === undefined || alike(before);
  };
  const { layout, acrossIslands } = request;
  const stage = shape.worldSize / layout.pipelineParallelDegree;
  const ranksOfIsland = { never: shape.worldSize, pipeline: stage, anyGroup: 1 }[acrossIslands ?? 'pipeline'];
  return (
    together(layout.tensorParallelDegree, (other) => other.nvlinkDomain === node.nvlinkDomain) &&
    together(ranksOfIsland, (other) => other.island === node.island)
  );
}
