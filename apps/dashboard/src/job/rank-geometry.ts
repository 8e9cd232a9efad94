import type { RankMap, RankPlace } from '@coxswain/api-types';
import { namedSwitch, ownNameOf } from '@coxswain/fabric';

/** A rank, and the switches above its node, near to far. */
export interface SeenRank extends RankPlace {
  readonly switches: readonly string[];
}

/** The ranks of the map in order, each with the facts of its node. */
export function seenRanks({ items, nodes }: RankMap): readonly SeenRank[] {
  const switchesOf = new Map(nodes.map(({ name, switches }) => [name, switches]));
  return items.map((place) => ({ ...place, switches: switchesOf.get(place.node) ?? [] }));
}

/** Ranks of one node, of one NVLink domain's nodes, of one island's domains. */
export interface NodeGroup {
  readonly node: string;
  readonly ranks: readonly SeenRank[];
}
export interface DomainGroup {
  readonly domain: string;
  /** As people call it; two domains may be called alike. */
  readonly name: string;
  readonly below: Below;
  readonly nodes: readonly NodeGroup[];
}
/** The spine and the leaf above, as far as they are known. */
export interface Below {
  /** The way down to the leaf, which no other leaf has. */
  readonly id: string;
  /** Names for people; empty if unknown. */
  readonly words: string;
}
export interface IslandGroup {
  readonly island: string;
  readonly nicType: string | null;
  readonly domains: readonly DomainGroup[];
}

/**
 * Ranks by island, leaf switch, NVLink domain and node, each in order of its first rank; a node without a domain is one of its own, and a domain below
 * several leaves stands below each.
 */
export function groupRanks(places: readonly SeenRank[]): readonly IslandGroup[] {
  const ordered = [...places].sort((a, b) => a.rank - b.rank);
  return grouped(ordered, (place) => place.island ?? 'no island').map(([island, inIsland]) => ({
    island,
    nicType: inIsland[0]?.nicType ?? null,
    domains: grouped(inIsland, (place) => belowOf(place).id).flatMap(([, belowLeaf]) => domainsOf(belowLeaf)),
  }));
}

function domainsOf(belowLeaf: readonly SeenRank[]): readonly DomainGroup[] {
  const below = belowOf(belowLeaf[0]);
  return grouped(belowLeaf, (place) => place.nvlinkDomain ?? place.node).map(([domain, inDomain]) => ({
    domain,
    name: (inDomain[0]?.nvlinkDomain ?? null) === null ? domain : ownNameOf(domain),
    below,
    nodes: grouped(inDomain, (place) => place.node).map(([node, ranks]) => ({ node, ranks })),
  }));
}

function belowOf(place: SeenRank | undefined): Below {
  const named = [1, 0].flatMap((tier) => namedSwitch(place?.switches ?? [], tier) ?? []);
  return { id: named.join('\n'), words: named.map(ownNameOf).join(' › ') };
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

/** A rank's cell on the map of its island, in CSS pixels. */
export interface RankCell {
  readonly place: SeenRank;
  readonly x: number;
  readonly y: number;
}

/** A text on the map: its left upper corner and the width it may take. */
export interface MapLabel {
  readonly text: string;
  readonly kind: 'leaf' | 'domain' | 'node';
  readonly x: number;
  readonly y: number;
  readonly widthPx: number;
}

/** An NVLink domain's frame. */
export interface DomainBox {
  readonly x: number;
  readonly y: number;
  readonly widthPx: number;
  readonly heightPx: number;
}

export interface IslandGeometry {
  readonly cellPx: number;
  readonly heightPx: number;
  readonly cells: readonly RankCell[];
  readonly boxes: readonly DomainBox[];
  readonly labels: readonly MapLabel[];
}

/** Everything that depends on how large a cell is: names are written where they can be read. */
interface Scale {
  readonly cellPx: number;
  readonly gapPx: number;
  readonly paddingPx: number;
  readonly domainLabelPx: number;
  readonly nodeLabelPx: number;
}

const SMALL: Scale = { cellPx: 6, gapPx: 1, paddingPx: 3, domainLabelPx: 0, nodeLabelPx: 0 };
/** On a phone the map shows the whole gang rather than single ranks. */
const TINY: Scale = { cellPx: 3, gapPx: 1, paddingPx: 2, domainLabelPx: 0, nodeLabelPx: 0 };
const PHONE_PX = 640;
const LEAF_LABEL_PX = 17;
/** Of more leaves the map would be longer than a page; their domains stand in the same order without lines of their own. */
const MOST_LEAF_LINES = 32;
const SCALES: readonly (Scale & { readonly upToRanks: number })[] = [
  { upToRanks: 32, cellPx: 44, gapPx: 2, paddingPx: 8, domainLabelPx: 20, nodeLabelPx: 16 },
  { upToRanks: 256, cellPx: 24, gapPx: 1, paddingPx: 6, domainLabelPx: 18, nodeLabelPx: 0 },
  { upToRanks: 2048, cellPx: 12, gapPx: 1, paddingPx: 4, domainLabelPx: 14, nodeLabelPx: 0 },
];

/**
 * An island as frames of NVLink domains that wrap at the width, below each leaf switch in lines of their own; inside a frame, nodes are rows of
 * their ranks, in as many columns as make it about square. Cells shrink with the number of ranks of the whole job, so that 16,384 still fit a page and islands compare.
 */
export function layOutIsland(
  island: IslandGroup,
  { widthPx, totalRanks }: { readonly widthPx: number; readonly totalRanks: number },
): IslandGeometry {
  const scale = SCALES.find(({ upToRanks }) => totalRanks <= upToRanks) ?? (widthPx < PHONE_PX ? TINY : SMALL);
  const cells: RankCell[] = [];
  const boxes: DomainBox[] = [];
  const labels: MapLabel[] = [];
  let x = 0;
  let y = 0;
  let lineHeightPx = 0;
  const namesLeaves = new Set(island.domains.map(({ below }) => below.id)).size <= MOST_LEAF_LINES;
  let belowId = '';
  for (const domain of island.domains) {
    const size = sizeOf(domain, scale);
    const isOtherLeaf = namesLeaves && domain.below.id !== belowId;
    if (x > 0 && (isOtherLeaf || x + size.widthPx > widthPx)) {
      x = 0;
      y += lineHeightPx + scale.paddingPx;
      lineHeightPx = 0;
    }
    if (isOtherLeaf) {
      belowId = domain.below.id;
      labels.push({ text: domain.below.words, kind: 'leaf', x: 0, y: y + 2, widthPx });
      y += LEAF_LABEL_PX;
    }
    const box = { x, y, widthPx: size.widthPx, heightPx: size.heightPx };
    boxes.push(box);
    if (scale.domainLabelPx > 0) {
      labels.push({ text: domain.name, kind: 'domain', x: x + scale.paddingPx, y: y + 4, widthPx: box.widthPx - 8 });
    }
    domain.nodes.forEach((node, index) => {
      const at = nodeCorner(box, { index, columns: size.columns, mostRanks: size.mostRanks, scale });
      if (scale.nodeLabelPx > 0)
        labels.push({ text: node.node, kind: 'node', ...at, widthPx: size.mostRanks * (scale.cellPx + scale.gapPx) });
      const cellY = at.y + scale.nodeLabelPx;
      node.ranks.forEach((place, i) => cells.push({ place, x: at.x + i * (scale.cellPx + scale.gapPx), y: cellY }));
    });
    x += box.widthPx + scale.paddingPx;
    lineHeightPx = Math.max(lineHeightPx, box.heightPx);
  }
  return { cellPx: scale.cellPx, heightPx: y + lineHeightPx, cells, boxes, labels };
}

function sizeOf(
  domain: DomainGroup,
  scale: Scale,
): { readonly columns: number; readonly mostRanks: number; readonly widthPx: number; readonly heightPx: number } {
  const mostRanks = Math.max(...domain.nodes.map((node) => node.ranks.length));
  const columns = Math.max(1, Math.round(Math.sqrt(domain.nodes.length / mostRanks)));
  const rows = Math.ceil(domain.nodes.length / columns);
  return {
    columns,
    mostRanks,
    widthPx: columns * nodeWidth(mostRanks, scale) + scale.paddingPx,
    heightPx: scale.domainLabelPx + rows * nodeHeight(scale) + scale.paddingPx,
  };
}

function nodeWidth(ranks: number, { cellPx, gapPx, paddingPx }: Scale): number {
  return ranks * (cellPx + gapPx) - gapPx + paddingPx;
}

function nodeHeight({ cellPx, gapPx, nodeLabelPx }: Scale): number {
  return nodeLabelPx + cellPx + gapPx * 2;
}

function nodeCorner(
  box: DomainBox,
  { index, columns, mostRanks, scale }: { index: number; columns: number; mostRanks: number; scale: Scale },
): { readonly x: number; readonly y: number } {
  return {
    x: box.x + scale.paddingPx + (index % columns) * nodeWidth(mostRanks, scale),
    y: box.y + scale.domainLabelPx + Math.floor(index / columns) * nodeHeight(scale) + scale.paddingPx / 2,
  };
}

/** The cell under a point, if any. */
export function cellAt(geometry: IslandGeometry, x: number, y: number): RankCell | undefined {
  return geometry.cells.find(
    (cell) => x >= cell.x && x < cell.x + geometry.cellPx && y >= cell.y && y < cell.y + geometry.cellPx,
  );
}

/** How fast a gang is: what a single rank is compared with. */
export interface Pace {
  readonly medianStepTimeMs: number | null;
  /** Step of the rank that got furthest. */
  readonly furthestStep: number | null;
  /** The rank with the longest step time. */
  readonly slowest: SeenRank | undefined;
}

export function paceOf(places: readonly SeenRank[]): Pace {
  const measured = places
    .filter((place) => place.stepTimeMs !== null)
    .sort((a, b) => (a.stepTimeMs ?? 0) - (b.stepTimeMs ?? 0));
  const furthestStep = places.reduce((furthest, place) => Math.max(furthest, place.lastStep ?? -1), -1);
  return {
    medianStepTimeMs: medianOf(measured.map((place) => place.stepTimeMs ?? 0)),
    furthestStep: furthestStep < 0 ? null : furthestStep,
    slowest: measured.at(-1),
  };
}

/** Of an even number the mean of the two in the middle: else the slower of two ranks would be the measure of both. */
function medianOf(ascending: readonly number[]): number | null {
  const upper = ascending[ascending.length >> 1];
  const lower = ascending[(ascending.length - 1) >> 1];
  return upper === undefined || lower === undefined ? null : (lower + upper) / 2;
}

/** How slow a rank is against the median of its gang: 0 at the median or faster, 1 at twice the median or slower; null unknown. */
export function slowness({ stepTimeMs }: SeenRank, { medianStepTimeMs }: Pace): number | null {
  if (stepTimeMs === null || medianStepTimeMs === null || medianStepTimeMs <= 0) return null;
  return Math.min(1, Math.max(0, stepTimeMs / medianStepTimeMs - 1));
}
