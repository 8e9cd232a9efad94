/** Does a choice of nodes keep the rules of placement? For choices that a search did not make. */
import type { FabricNode } from '../nodes/fabric.ts';
import type { GangRequest, GangShape } from '../traffic/gang-shape.ts';

/** Pod after pod: each block in one NVLink domain, the islands as the request lets it, and equally many NICs where these are used. */
export function breaksRule(
  { acrossIslands = 'never' }: GangRequest,
  { podsPerBlock, blocksPerRow }: GangShape,
  nodes: readonly FabricNode[],
): boolean {
  const domainsOf = (some: readonly FabricNode[]): number => countOf(some, ({ nvlinkDomain }) => nvlinkDomain);
  const islandsOf = (some: readonly FabricNode[]): number => countOf(some, ({ island }) => island);
  if (inRuns(nodes, podsPerBlock).some((block) => domainsOf(block) > 1)) return true;
  if (acrossIslands === 'anyGroup') return false;
  const counts = new Set(nodes.flatMap(({ nicCount }) => nicCount ?? []));
  if (counts.size > 1) return true;
  if (islandsOf(nodes) < 2) return false;
  if (acrossIslands === 'never' || countOf(nodes, ({ nicType = '' }) => nicType.toLowerCase()) > 1) return true;
  return inRuns(nodes, podsPerBlock * blocksPerRow).some((row) => islandsOf(row) > 1);
}

function inRuns(nodes: readonly FabricNode[], length: number): readonly (readonly FabricNode[])[] {
  return Array.from({ length: Math.ceil(nodes.length / length) }, (_, index) =>
    nodes.slice(index * length, (index + 1) * length),
  );
}

function countOf(nodes: readonly FabricNode[], nameOf: (node: FabricNode) => string): number {
  return new Set(nodes.map(nameOf)).size;
}
