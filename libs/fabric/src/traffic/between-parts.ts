/** What do parts of a gang, each on nodes of its own, send each other at least, however they lie there? */
import { BOUNDARY_WEIGHTS } from './boundary-weights.ts';
import { tiersOf } from './fabric-tiers.ts';
import type { FabricNode } from '../nodes/fabric.ts';
import { BOUNDARIES, type LayoutTraffic } from './traffic.ts';

/** Ranks `[firstRank, firstRank + ranks)` are on some of these nodes. */
export interface PlacedPart {
  readonly firstRank: number;
  readonly nodes: readonly FabricNode[];
}

/**
 * Weighted bytes between parts. A chain counts the neighbours that lie in two parts. A ring that is cut counts two pairs wherever it leaves a part
 * and returns. Each pair counts for the boundaries between any node of one part and any node of the other.
 */
export function leastBetweenParts({ byKind }: LayoutTraffic, parts: readonly PlacedPart[]): number {
  const partOf = (rank: number): number => parts.findLastIndex(({ firstRank }) => rank >= firstRank);
  const apart = weightsApart(parts);
  let weighted = 0;
  for (const { pattern, bytesPerPair, groups } of byKind) {
    for (const group of groups) {
      const across = group
        .map(partOf)
        .flatMap((part, at, all) => (at > 0 && part !== all[at - 1] ? [apart[all[at - 1] ?? 0]?.[part] ?? 0] : []));
      if (pattern === 'chain') weighted += bytesPerPair * across.reduce((sum, weight) => sum + weight, 0);
      else if (across.length > 0 && pattern === 'ring') weighted += 2 * bytesPerPair * Math.min(...apart.flat());
    }
  }
  return weighted;
}

/** By two parts: what a byte costs at least between them, beyond the boundary between nodes. Between a part and itself nothing is asked: infinite. */
function weightsApart(parts: readonly PlacedPart[]): readonly (readonly number[])[] {
  const nodes = parts.flatMap((part) => part.nodes);
  const { domainOf, beyond } = tiersOf({ nodes });
  const firstOf = parts.map((_, part) => parts.slice(0, part).reduce((sum, before) => sum + before.nodes.length, 0));
  const placesOf = (part: number, classOf: Int32Array): ReadonlySet<number> => {
    const first = firstOf[part] ?? 0;
    return new Set(classOf.subarray(first, first + (parts[part]?.nodes.length ?? 0)));
  };
  const between = (one: number, other: number): number => {
    const classes = [domainOf, ...beyond.map(({ switchOf }) => switchOf)];
    const shared = classes.findIndex((classOf) => {
      const there = placesOf(other, classOf);
      return [...placesOf(one, classOf)].some((place) => there.has(place));
    });
    const crossed = BOUNDARIES.slice(2, shared < 0 ? BOUNDARIES.length : 2 + shared);
    return crossed.reduce((sum, boundary) => sum + BOUNDARY_WEIGHTS[boundary], 0);
  };
  return parts.map((_, one) => parts.map((_part, other) => (one === other ? Infinity : between(one, other))));
}
