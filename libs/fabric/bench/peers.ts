/**
 * How others would place the same gang, written anew from what they publish. Each gives nodes pod by pod, or undefined where its rule finds none.
 *
 * Neither knows what ranks say to each other. Both are told as much as they can be: every tier of the fabric, whole tensor groups as slices or
 * segments, and the islands that the gang may not cross as a required level.
 */
import type { FabricNode } from '../src/nodes/fabric.ts';
import type { GangShape } from '../src/traffic/gang-shape.ts';
import type { OpenNode } from '../src/capacity/open-nodes.ts';

export interface PeerQuestion {
  readonly shape: GangShape;
  readonly open: readonly OpenNode[];
}

/** Free nodes by name, domain by domain where a tensor group needs several. */
export function firstFit({ shape, open }: PeerQuestion): readonly string[] | undefined {
  const slots = slicesOf(shape, open).map((slice) => slice.nodes);
  const nodes = slots.flat();
  return nodes.length < shape.pods ? undefined : nodes.slice(0, shape.pods);
}

interface Slice {
  readonly nodes: readonly string[];
  /** Far to near: island, core, spine, leaf, domain. */
  readonly path: readonly string[];
}

/** Nodes for one tensor group each, in the order of names. */
function slicesOf({ podsPerBlock, ranksPerPod }: GangShape, open: readonly OpenNode[]): readonly Slice[] {
  const able = open.filter(({ free }) => free >= ranksPerPod);
  const byDomain = Map.groupBy(able, ({ node }) => node.nvlinkDomain);
  const slices = [...byDomain.values()].flatMap((nodes) =>
    Array.from({ length: Math.floor(nodes.length / podsPerBlock) }, (_, at): Slice => {
      const inside = nodes.slice(at * podsPerBlock, (at + 1) * podsPerBlock).map(({ node }) => node);
      return { nodes: inside.map(({ name }) => name), path: pathOf(inside[0]) };
    }),
  );
  return slices.sort((one, other) => ((one.nodes[0] ?? '') < (other.nodes[0] ?? '') ? -1 : 1));
}

function pathOf(node: FabricNode | undefined): readonly string[] {
  if (node === undefined) return [];
  const { island, switches, nvlinkDomain } = node;
  return [island, ...[2, 1, 0].map((tier) => switches[tier] ?? ''), nvlinkDomain];
}

/** Slices of several tensor groups, each below one leaf. */
function largerSlices(slices: readonly Slice[], size: number): readonly Slice[] {
  if (size === 1) return slices;
  return domainsAt(slices, 3).flatMap((leaf) =>
    Array.from({ length: Math.floor(leaf.slices.length / size) }, (_, at): Slice => {
      const inside = leaf.slices.slice(at * size, (at + 1) * size);
      return { nodes: inside.flatMap(({ nodes }) => nodes), path: (inside[0]?.path ?? []).slice(0, 4) };
    }),
  );
}

interface Domain {
  readonly key: string;
  readonly slices: readonly Slice[];
}

/** Paths are compared as far as the level. */
function domainsAt(slices: readonly Slice[], level: number): readonly Domain[] {
  const groups = Map.groupBy(slices, ({ path }) => path.slice(0, level + 1).join('\n'));
  return [...groups]
    .map(([key, inside]) => ({ key, slices: inside }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
}

const LEVELS = 5;

/**
 * Kueue's topology-aware scheduling, preferred level leaf, slices of so many whole tensor groups (KEP-2724; kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling):
 * goes up from the preferred level to the first at which one domain has room for all, taking the one with least room of those that do; else starts
 * with several at the top. From there down to nodes the roomiest domains are filled one after the other, and the last is the one with least room
 * that is enough (BestFit). Pods go to domains in the order of their names, by pod index.
 */
export function kueueTopology({ shape, open }: PeerQuestion, unitsPerSlice: number): readonly string[] | undefined {
  const slices = largerSlices(slicesOf(shape, open), unitsPerSlice);
  const wanted = Math.ceil(shape.pods / shape.podsPerBlock / unitsPerSlice);
  if (slices.length < wanted) return undefined;
  const single = [3, 2, 1, 0]
    .map((level) => tightest(domainsAt(slices, level), wanted))
    .find((domain) => domain !== undefined);
  let chosen: readonly { readonly domain: Domain; readonly count: number }[] =
    single === undefined ? bestFit(domainsAt(slices, 0), wanted) : [{ domain: single, count: wanted }];
  for (let level = 1; level < LEVELS; level++) {
    // The level below all chosen domains at once: that is how few domains are used at it.
    const inside = chosen.flatMap(({ domain }) => domain.slices);
    const below = bestFit(domainsAt(inside, level), wanted);
    chosen = below.toSorted((one, other) => (one.domain.key < other.domain.key ? -1 : 1));
  }
  return nodesOf(shape, chosen);
}

function tightest(domains: readonly Domain[], wanted: number): Domain | undefined {
  const enough = domains.filter((domain) => domain.slices.length >= wanted);
  return enough.reduce<Domain | undefined>(
    (best, one) => (best === undefined || one.slices.length < best.slices.length ? one : best),
    undefined,
  );
}

function bestFit(domains: readonly Domain[], wanted: number): { readonly domain: Domain; readonly count: number }[] {
  const left = domains.toSorted((one, other) => other.slices.length - one.slices.length);
  const chosen: { readonly domain: Domain; readonly count: number }[] = [];
  let missing = wanted;
  while (missing > 0 && left.length > 0) {
    const next = tightest(left, missing) ?? left[0];
    if (next === undefined) break;
    left.splice(left.indexOf(next), 1);
    const count = Math.min(missing, next.slices.length);
    chosen.push({ domain: next, count });
    missing -= count;
  }
  return chosen;
}

function nodesOf(
  shape: GangShape,
  chosen: readonly { readonly domain: Domain; readonly count: number }[],
): readonly string[] {
  return chosen
    .flatMap(({ domain, count }) => domain.slices.slice(0, count))
    .flatMap(({ nodes }) => nodes)
    .slice(0, shape.pods);
}

/**
 * KAI's segments (docs/topology/README.md of KAI-Scheduler; docs.nvidia.com/run-ai, segment-based topology placement): pods `[i * size, (i + 1) * size)`
 * are a segment, placed by itself into one domain of the segment's level, preferred; different segments may land in different domains. Workload level:
 * the nearest tier of which one domain has room for the whole gang. Of domains with room, the one with least is taken (bin packing), here first those
 * where the gang already is. Where none has room for a segment, its pods fill the roomiest domains one after the other (node ordering). A segment of
 * the whole gang is a job without segments.
 */
export function kaiSegments({ shape, open }: PeerQuestion, slicesPerSegment: number): readonly string[] | undefined {
  const all = slicesOf(shape, open);
  const wanted = Math.ceil(shape.pods / shape.podsPerBlock);
  if (all.length < wanted) return undefined;
  const within = [3, 2, 1, 0]
    .map((level) => tightest(domainsAt(all, level), wanted))
    .find((domain) => domain !== undefined);
  const free = new Map(domainsAt(within?.slices ?? all, 3).map(({ key, slices }) => [key, [...slices]]));
  const used = new Set<string>();
  const nodes: string[] = [];
  const take = (count: number): boolean => {
    const enough = [...free].filter(([, slices]) => slices.length >= count);
    enough.sort(
      ([one, left], [other, right]) =>
        Number(used.has(other)) - Number(used.has(one)) || left.length - right.length || (one < other ? -1 : 1),
    );
    const [best] = enough;
    if (best === undefined) return false;
    used.add(best[0]);
    nodes.push(...best[1].splice(0, count).flatMap((slice) => slice.nodes));
    return true;
  };
  const fillRoomiest = (count: number): void => {
    for (let missing = count; missing > 0;) {
      const [roomiest] = [...free].sort(
        ([one, left], [other, right]) => right.length - left.length || (one < other ? -1 : 1),
      );
      const taken = roomiest?.[1].splice(0, missing) ?? [];
      if (roomiest === undefined || taken.length === 0) return;
      used.add(roomiest[0]);
      nodes.push(...taken.flatMap((slice) => slice.nodes));
      missing -= taken.length;
    }
  };
  for (let placed = 0; placed < wanted; placed += slicesPerSegment) {
    const size = Math.min(slicesPerSegment, wanted - placed);
    if (!take(size)) fillRoomiest(size);
  }
  return nodes.slice(0, shape.pods);
}
