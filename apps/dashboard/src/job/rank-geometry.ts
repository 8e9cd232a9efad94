import type { RankPlace } from '@coxswain/api-types';

/** Ranks of one node, of one NVLink domain's nodes, of one island's domains. */
export interface NodeGroup {
  readonly node: string;
  readonly ranks: readonly RankPlace[];
}
export interface DomainGroup {
  readonly domain: string;
  readonly nodes: readonly NodeGroup[];
}
export interface IslandGroup {
  readonly island: string;
  readonly nicType: string | null;
  readonly domains: readonly DomainGroup[];
}

/** Ranks by island, NVLink domain and node, each in order of its first rank. */
export function groupRanks(places: readonly RankPlace[]): readonly IslandGroup[] {
  const ordered = [...places].sort((a, b) => a.rank - b.rank);
  return grouped(ordered, (place) => place.island ?? 'no island').map(([island, inIsland]) => ({
    island,
    nicType: inIsland[0]?.nicType ?? null,
    domains: grouped(inIsland, (place) => place.nvlinkDomain ?? place.node).map(([domain, inDomain]) => ({
      domain,
      nodes: grouped(inDomain, (place) => place.node).map(([node, ranks]) => ({ node, ranks })),
    })),
  }));
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return [...groups];
}

/** A rank's cell on the map, in CSS pixels. */
export interface RankCell {
  readonly place: RankPlace;
  readonly x: number;
  readonly y: number;
}

export interface RankMapGeometry {
  readonly cellPx: number;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly cells: readonly RankCell[];
}

const GAP_PX = 1;
const NODE_GAP_PX = 6;

/**
 * Cells of one NVLink domain: a node is a row block of its ranks, blocks wrap at the width. Cells shrink with the number of ranks, so that
 * 16,384 still fit a page.
 */
export function layOutDomain(domain: DomainGroup, widthPx: number, totalRanks: number): RankMapGeometry {
  const cellPx = totalRanks <= 64 ? 44 : totalRanks <= 1024 ? 18 : 7;
  const cells: RankCell[] = [];
  let x = 0;
  let y = 0;
  for (const { ranks } of domain.nodes) {
    const blockPx = ranks.length * (cellPx + GAP_PX);
    if (x > 0 && x + blockPx > widthPx) {
      x = 0;
      y += cellPx + NODE_GAP_PX;
    }
    ranks.forEach((place, index) => cells.push({ place, x: x + index * (cellPx + GAP_PX), y }));
    x += blockPx + NODE_GAP_PX;
  }
  return { cellPx, widthPx, heightPx: y + cellPx, cells };
}

/** The cell under a point, if any. */
export function cellAt(geometry: RankMapGeometry, x: number, y: number): RankCell | undefined {
  return geometry.cells.find(
    (cell) => x >= cell.x && x < cell.x + geometry.cellPx && y >= cell.y && y < cell.y + geometry.cellPx,
  );
}

/** How slow a rank is against the median of its gang: 0 at the median or faster, 1 at twice the median or slower; null unknown. */
export function slowness(places: readonly RankPlace[]): (place: RankPlace) => number | null {
  const times = places.flatMap((place) => (place.stepTimeMs === null ? [] : [place.stepTimeMs])).sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)];
  return ({ stepTimeMs }) => {
    if (stepTimeMs === null || median === undefined || median <= 0) return null;
    return Math.min(1, Math.max(0, stepTimeMs / median - 1));
  };
}
