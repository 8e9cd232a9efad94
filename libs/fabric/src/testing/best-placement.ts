import type { FabricNode } from '../nodes/fabric.ts';
import { gangShape, type GangRequest, type GangShape, ranksInDomain } from '../traffic/gang-shape.ts';
import { placementCost } from '../place/least-crossing.ts';
import type { OpenNode } from '../capacity/open-nodes.ts';
import type { LayoutTraffic } from '../traffic/traffic.ts';

/**
 * Weighted bytes of the best placement there is, however long that takes; undefined where there is none. Every placement is priced but those in which
 * nodes, or switches and domains that nobody is below yet, trade places that look alike; a domain has to be below one switch of each tier. It shares
 * nothing with the search and the bound that it is held against but the price of a placement.
 */
export function bestPlacementCost(
  request: GangRequest & { readonly traffic: LayoutTraffic },
  ranksPerPod: number,
  open: readonly OpenNode[],
): number | undefined {
  const shape = gangShape(request.layout, ranksPerPod);
  const fabric = { nodes: open.map(({ node }) => node) };
  const kindOf = kinds(open);
  let best: number | undefined;
  const price = (chosen: readonly FabricNode[]): void => {
    const nodes = chosen.map(({ name }) => name);
    best = Math.min(best ?? Infinity, placementCost({ shape, traffic: request.traffic, fabric }, nodes));
  };
  const choose = (chosen: readonly OpenNode[]): void => {
    const nodes = chosen.map(({ node }) => node);
    if (chosen.length === shape.pods) return price(nodes);
    const tried = new Set<string>();
    for (const one of open) {
      if (chosen.includes(one) || !mayFollow({ shape, request }, nodes, one)) continue;
      const kind = kindOf(one, chosen);
      if (tried.has(kind)) continue;
      tried.add(kind);
      choose([...chosen, one]);
    }
  };
  choose([]);
  return best;
}

/** What tells a node from others beside those that are chosen: names of the places where some are, and how the first place without any is made up. */
function kinds(open: readonly OpenNode[]): (one: OpenNode, chosen: readonly OpenNode[]) => string {
  const places = new Map(open.map((one) => [one, placesOf(one)]));
  const all = [...places].flatMap(([one, keys]) => keys.map((key) => ({ key, one })));
  const inside = Map.groupBy(all, ({ key }) => key);
  const signatures = new Map<string, string>();
  // The signature of a place with ten thousand nodes is long, and is part of the kind of each of them.
  const shorts = new Map<string, string>();
  const shortOf = (signature: string): string => {
    const short = shorts.get(signature) ?? `#${shorts.size}`;
    shorts.set(signature, short);
    return short;
  };
  const signatureOf = (key: string, tier: number): string => {
    const known = signatures.get(key);
    if (known !== undefined) return known;
    const nodes = (inside.get(key) ?? []).map(({ one }) => one);
    const below = new Set(nodes.map((one) => places.get(one)?.[tier + 1]));
    const parts = [...below].map((next) =>
      next === undefined ? String(nodes.map(({ free }) => free).sort()) : signatureOf(next, tier + 1),
    );
    const signature = shortOf(parts.sort().join());
    signatures.set(key, signature);
    return signature;
  };
  return (one, chosen) => {
    const keys = places.get(one) ?? [];
    const empty = keys.findIndex((key) => !chosen.some((other) => places.get(other)?.includes(key)));
    return empty < 0
      ? `${keys.at(-1) ?? ''} ${one.free}`
      : `${keys[empty - 1] ?? ''} ${signatureOf(keys[empty] ?? '', empty)} ${pathSignature(keys.slice(empty + 1), empty + 1, signatureOf)} ${one.free}`;
  };
}

/** Which of the places inside it is, by how they are made up. */
function pathSignature(
  keys: readonly string[],
  tier: number,
  signatureOf: (key: string, tier: number) => string,
): string {
  return keys.map((key, at) => signatureOf(key, tier + at)).join(' ');
}

/** Far to near, each named with those around it. Domains of several nodes are below one leaf each. */
function placesOf({ node: { island, switches, nvlinkDomain } }: OpenNode): readonly string[] {
  const path = [island, ...switches.toReversed(), nvlinkDomain];
  return path.map((_, at) => path.slice(0, at + 1).join('\n'));
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
    together(ranksInDomain(layout), (other) => other.nvlinkDomain === node.nvlinkDomain) &&
    together(ranksOfIsland, (other) => other.island === node.island)
  );
}
