import type { FabricPageNode, IslandTree, LeafGroup } from './fabric-tree.ts';

/** All lengths are units of the drawing: CSS pixels where it is not zoomed. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The frame of a leaf; its nodes stand in rows of `columns`, with a gap where another NVLink domain begins. */
export interface LeafBox extends Box {
  readonly leaf: LeafGroup;
  readonly columns: number;
  /** Where each node stands, counted in cells of the rows; the gap at the end of a domain fills its row. */
  readonly slots: readonly number[];
  readonly nodeAtSlot: ReadonlyMap<number, FabricPageNode>;
}

export interface FabricLabel {
  readonly text: string;
  readonly kind: 'island' | 'spine' | 'leaf';
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export interface FabricGeometry {
  readonly width: number;
  readonly height: number;
  readonly leaves: readonly LeafBox[];
  readonly labels: readonly FabricLabel[];
}

export const CELL = 10;
const PITCH = CELL + 2;
const PADDING = 4;
const LEAF_GAP = 6;
const LEAF_LABEL = 12;
const SPINE_LABEL = 16;
const SPINE_GAP = 18;
/** Of three islands of 10,000 nodes the names can be read in the whole drawing. */
const ISLAND_LABEL = 44;
/** Candidate widths of a drawing. The page shows the one that fits its window best. */
const WIDTHS = [1, 1.3, 1.7, 2.2, 2.9, 3.8, 5];

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Islands below each other, in them spines, in these leaves, as wide as lets most of it be seen at once in the window. */
export function layOutFabric(islands: readonly IslandTree[], window: Size): FabricGeometry {
  const blocks = islands.map(({ island, leaves }) => ({
    island,
    spines: [...Map.groupBy(leaves, ({ spine }) => spine?.id).values()].map(spineBlock),
  }));
  const drawings = WIDTHS.map((factor) => flowed(blocks, factor * window.width));
  return drawings.reduce((best, one) => (fitting(one, window) > fitting(best, window) ? one : best));
}

/** The scale at which all of it is seen, and no larger than it is drawn. */
export function fitting({ width, height }: Size, window: Size): number {
  return Math.min(1, window.width / width, window.height / height);
}

type Parts = Pick<FabricGeometry, 'leaves' | 'labels'>;

/** Leaves of one spine, drawn as if it stood in the corner. */
interface Block extends Size, Parts {}

function spineBlock(members: readonly LeafGroup[]): Block {
  const spine = members[0]?.spine;
  const leaves: LeafBox[] = [];
  const labels: FabricLabel[] = [];
  const sizes = members.map((leaf) => ({ leaf, ...sizeOf(leaf) }));
  const perRow = Math.ceil(Math.sqrt(members.length * 1.4));
  const widest = sizes.reduce((most, size) => Math.max(most, size.width), 0);
  const width = perRow * (widest + LEAF_GAP) - LEAF_GAP;
  if (spine !== undefined) labels.push({ text: spine.name, kind: 'spine', x: 0, y: 0, width });
  const flow = new Flow(width, spine === undefined ? 0 : SPINE_LABEL, LEAF_GAP);
  for (const size of sizes) {
    const corner = flow.place(size);
    leaves.push({ ...size, ...corner });
    const { leaf } = size.leaf;
    if (leaf === undefined) continue;
    labels.push({ text: leaf.name, kind: 'leaf', x: corner.x + PADDING, y: corner.y + 2, width: size.width - PADDING });
  }
  return { width, height: flow.bottom, leaves, labels };
}

interface IslandBlocks {
  readonly island: string;
  readonly spines: readonly Block[];
}

function flowed(islands: readonly IslandBlocks[], most: number): FabricGeometry {
  const leaves: LeafBox[] = [];
  const labels: FabricLabel[] = [];
  let y = 0;
  for (const { island, spines } of islands) {
    labels.push({ text: island, kind: 'island', x: 0, y, width: most });
    const flow = new Flow(most, y + ISLAND_LABEL, SPINE_GAP);
    for (const block of spines) {
      const { x, y: top } = flow.place(block);
      leaves.push(...block.leaves.map((box) => ({ ...box, x: box.x + x, y: box.y + top })));
      labels.push(...block.labels.map((label) => ({ ...label, x: label.x + x, y: label.y + top })));
    }
    y = flow.bottom + SPINE_GAP;
  }
  const width = leaves.reduce((most, box) => Math.max(most, box.x + box.width), 1);
  return { width, height: Math.max(1, y), leaves, labels };
}

/** Places boxes from left to right, in rows below each other. */
class Flow {
  readonly #width: number;
  readonly #gap: number;
  #x = 0;
  #y: number;
  #rowHeight = 0;

  constructor(width: number, top: number, gap: number) {
    this.#width = width;
    this.#y = top;
    this.#gap = gap;
  }

  get bottom(): number {
    return this.#y + this.#rowHeight;
  }

  place({ width, height }: Size): { readonly x: number; readonly y: number } {
    if (this.#x > 0 && this.#x + width > this.#width) {
      this.#x = 0;
      this.#y += this.#rowHeight + this.#gap;
      this.#rowHeight = 0;
    }
    const corner = { x: this.#x, y: this.#y };
    this.#x += width + this.#gap;
    this.#rowHeight = Math.max(this.#rowHeight, height);
    return corner;
  }
}

/** Domains of several nodes begin a row, so that one is seen at a glance. */
function sizeOf({ nodes }: LeafGroup): Omit<LeafBox, 'leaf' | 'x' | 'y'> {
  const columns = Math.max(4, Math.ceil(Math.sqrt(nodes.length * 2)));
  const slots: number[] = [];
  const nodeAtSlot = new Map<number, FabricPageNode>();
  let next = 0;
  let domain: string | null = null;
  for (const node of nodes) {
    const isOther = node.place.nvlinkDomain !== domain;
    if (isOther) next = Math.ceil(next / columns) * columns;
    domain = node.place.nvlinkDomain;
    slots.push(next);
    nodeAtSlot.set(next, node);
    next += 1;
  }
  const rows = Math.ceil(next / columns);
  return {
    columns,
    slots,
    nodeAtSlot,
    width: columns * PITCH - (PITCH - CELL) + 2 * PADDING,
    height: LEAF_LABEL + rows * PITCH - (PITCH - CELL) + 2 * PADDING,
  };
}

/** Left upper corner of a slot's cell. */
export function cornerOf(box: LeafBox, slot: number): { readonly x: number; readonly y: number } {
  return {
    x: box.x + PADDING + (slot % box.columns) * PITCH,
    y: box.y + PADDING + LEAF_LABEL + Math.floor(slot / box.columns) * PITCH,
  };
}

/** The node at a point. Searches a few hundred frames, not every node. */
export function nodeAt(geometry: FabricGeometry, x: number, y: number): FabricPageNode | undefined {
  const box = geometry.leaves.find((leaf) => isIn(leaf, x, y));
  if (box === undefined) return undefined;
  const column = Math.floor((x - box.x - PADDING) / PITCH);
  const row = Math.floor((y - box.y - PADDING - LEAF_LABEL) / PITCH);
  if (column < 0 || row < 0 || column >= box.columns) return undefined;
  const slot = row * box.columns + column;
  const corner = cornerOf(box, slot);
  return isIn({ ...corner, width: CELL, height: CELL }, x, y) ? box.nodeAtSlot.get(slot) : undefined;
}

function isIn(box: Box, x: number, y: number): boolean {
  return x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
}

/** Which part of the drawing is seen: what is at (x, y) stands in the left upper corner, `scale` times as large. */
export interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export const MAX_SCALE = 6;

/** The view of the whole drawing, centred in the window. */
export function wholeView(geometry: Size, window: Size): View {
  const scale = fitting(geometry, window);
  return kept({ x: 0, y: 0, scale }, geometry, window);
}

/** The view after a zoom around a point of the window, in pixels of it. */
export function zoomed(view: View, by: number, at: { readonly x: number; readonly y: number }): View {
  const scale = Math.min(MAX_SCALE, view.scale * by);
  return { scale, x: view.x + at.x / view.scale - at.x / scale, y: view.y + at.y / view.scale - at.y / scale };
}

/** The view with the drawing kept in the window: a smaller drawing is centred or at the top, a larger one fills the window. */
export function kept(view: View, geometry: Size, window: Size): View {
  const scale = Math.max(fitting(geometry, window), view.scale);
  const spareX = geometry.width - window.width / scale;
  const spareY = geometry.height - window.height / scale;
  return {
    scale,
    x: spareX < 0 ? spareX / 2 : Math.min(spareX, Math.max(0, view.x)),
    y: spareY < 0 ? 0 : Math.min(spareY, Math.max(0, view.y)),
  };
}

/** Whether any of a box can be seen in a window of that size. */
export function isSeen(box: Box, view: View, window: Size): boolean {
  return (
    (box.x + box.width - view.x) * view.scale >= 0 &&
    (box.y + box.height - view.y) * view.scale >= 0 &&
    (box.x - view.x) * view.scale <= window.width &&
    (box.y - view.y) * view.scale <= window.height
  );
}

/** The view moved as little as needed for a cell to be in sight. */
export function showing(corner: { readonly x: number; readonly y: number }, view: View, window: Size): View {
  const along = (start: number, at: number, length: number): number =>
    Math.max(Math.min(start, at), at + CELL - length / view.scale);
  return { ...view, x: along(view.x, corner.x, window.width), y: along(view.y, corner.y, window.height) };
}
