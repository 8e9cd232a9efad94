/** Layout of a fabric drawing: nested boxes in rows. */
import { type FabricNode, isInOwnDomain, namedSwitch, placeName } from '@coxswain/fabric';

/** Width of the drawing. */
export const WIDTH = 1240;
const MARGIN = 16;
const PADDING = 6;
const GAP = 6;
const HEADER = 15;
const BAR = { width: 108, height: 26 };

/** A positioned box: a node, a bar of several nodes, or a frame. */
export interface DrawnBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Label of a frame; nodes have their own names. */
  readonly label: string;
  /** One, or those that a bar stands for; none: a frame around others. */
  readonly nodes: readonly FabricNode[];
  /** One for all nodes below a leaf, be it a single one. */
  readonly isBar: boolean;
  readonly depth: number;
}

/** Sizes of boxes. */
export interface BoxStyle {
  readonly cell: number;
  readonly hasNames: boolean;
}

interface Part {
  readonly label: string;
  readonly parts: readonly Part[];
  readonly nodes: readonly FabricNode[];
  readonly isBar: boolean;
}

interface Sized {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly DrawnBox[];
}

/** Largest number of nodes, or of bars, that are drawn one by one. */
const MOST_NODES = 1024;

type Level = (node: FabricNode) => readonly [kind: string, name: string] | undefined;
const [ISLAND_LEVEL, SPINE_LEVEL, LEAF_LEVEL] = [0, 1, 2];
const switchAt =
  (tier: number, kind: string): Level =>
  ({ switches }) => {
    const name = namedSwitch(switches, tier);
    return name === undefined ? undefined : [kind, name];
  };
/** Levels of the fabric, outermost first; undefined if a node has no label for it. */
const LEVELS: readonly Level[] = [
  ({ island }) => ['island', island],
  switchAt(1, 'spine'),
  switchAt(0, 'leaf'),
  (node) => (isInOwnDomain(node) ? undefined : ['NVLink', node.nvlinkDomain]),
];

/** Boxes of all nodes; of more than `MOST_NODES` a bar for each leaf, or spine, or island, whichever are few enough. */
export function boxesOf(nodes: readonly FabricNode[], style: BoxStyle): Sized {
  const room = WIDTH - 2 * MARGIN;
  const parts = partsOf(nodes, 0, nodes.length > MOST_NODES ? barLevelOf(nodes) : undefined);
  return shelves(
    parts.map((part) => sized(part, { style, depth: 0, room })),
    { room, left: MARGIN, top: 0 },
  );
}

/** The nearest level of switches that has few enough of them; islands where none has. */
function barLevelOf(nodes: readonly FabricNode[]): number {
  const isFew = (level: number): boolean => {
    const path = LEVELS.slice(0, level + 1);
    return new Set(nodes.map((node) => path.map((nameOf) => nameOf(node)?.[1]).join('\n'))).size <= MOST_NODES;
  };
  return [LEAF_LEVEL, SPINE_LEVEL].find(isFew) ?? ISLAND_LEVEL;
}

function partsOf(nodes: readonly FabricNode[], level: number, barLevel: number | undefined): readonly Part[] {
  const nameOf = LEVELS[level];
  if (nameOf === undefined) {
    return nodes
      .toSorted((one, other) => byNumber(one.name, other.name))
      .map((node) => ({ label: node.name, parts: [], nodes: [node], isBar: false }));
  }
  const groups = [...Map.groupBy(nodes, (node) => nameOf(node)?.join(' ') ?? '')].sort(([one], [other]) =>
    byNumber(one, other),
  );
  if (level === barLevel)
    return barsOf(
      groups.map(([, members]) => members),
      nameOf,
    );
  return groups.flatMap(([, members]) => {
    const label = labelOf(members, nameOf);
    const parts = partsOf(members, level + 1, barLevel);
    return label === undefined ? parts : [{ label, parts, nodes: [], isBar: false }];
  });
}

function barsOf(groups: readonly (readonly FabricNode[])[], nameOf: Level): readonly Part[] {
  const rest = groups.slice(MOST_NODES);
  const shown = groups
    .slice(0, MOST_NODES)
    .map((nodes) => ({ label: labelOf(nodes, nameOf) ?? 'no switch told', nodes }));
  const more = rest.length === 0 ? [] : [{ label: `${rest.length} more`, nodes: rest.flat() }];
  return [...shown, ...more].map((bar) => ({ ...bar, parts: [], isBar: true }));
}

function labelOf([first]: readonly FabricNode[], nameOf: Level): string | undefined {
  const named = first === undefined ? undefined : nameOf(first);
  return named === undefined ? undefined : `${named[0]} ${placeName(named[1])}`;
}

/** leaf-2 before leaf-10. */
const { compare: byNumber } = new Intl.Collator('en', { numeric: true });

interface Room {
  readonly style: BoxStyle;
  readonly depth: number;
  readonly room: number;
}

function sized(part: Part, { style, depth, room }: Room): Sized {
  if (part.nodes.length > 0) {
    const gpus = part.nodes.reduce((most, node) => Math.max(most, node.gpus), 0);
    const width = part.isBar ? BAR.width : gpus * style.cell + 4;
    const height = part.isBar ? BAR.height : style.cell + (style.hasNames ? 16 : 4);
    return { width, height, boxes: [{ x: 0, y: 0, width, height, ...part, depth }] };
  }
  const inner = room - 2 * PADDING;
  const children = part.parts.map((child) => sized(child, { style, depth: depth + 1, room: inner }));
  const hasFrames = part.parts.some(({ nodes }) => nodes.length === 0);
  const content = shelves(children, {
    room: balanced(children, hasFrames ? inner : Math.min(inner, squarish(children))),
    left: PADDING,
    top: HEADER,
  });
  const width = Math.max(content.width + PADDING, Math.min(room, part.label.length * 6 + 2 * PADDING));
  const height = content.height + PADDING;
  return { width, height, boxes: [{ x: 0, y: 0, width, height, ...part, depth }, ...content.boxes] };
}

/** No wider than shelves of equally many need: eight where seven have room are four and four. */
function balanced(children: readonly Sized[], room: number): number {
  const step = Math.max(...children.map(({ width }) => width)) + GAP;
  const columns = Math.max(1, Math.floor((room + GAP) / step));
  return Math.ceil(children.length / Math.ceil(children.length / columns)) * step - GAP;
}

/** As wide as makes the whole about three times as wide as high. */
function squarish(children: readonly Sized[]): number {
  const area = children.reduce((sum, { width, height }) => sum + (width + GAP) * (height + GAP), 0);
  return Math.max(...children.map(({ width }) => width), Math.sqrt(3 * area));
}

/** Side by side in their order, and below where there is no more room. */
function shelves(
  children: readonly Sized[],
  { room, left, top }: { readonly room: number; readonly left: number; readonly top: number },
): Sized {
  const boxes: DrawnBox[] = [];
  let [x, y, shelf, widest] = [0, top, 0, 0];
  for (const child of children) {
    if (x > 0 && x + child.width > room) [x, y, shelf] = [0, y + shelf + GAP, 0];
    boxes.push(...child.boxes.map((box) => ({ ...box, x: box.x + left + x, y: box.y + y })));
    x += child.width + GAP;
    widest = Math.max(widest, x - GAP);
    shelf = Math.max(shelf, child.height);
  }
  return { width: widest + left, height: y + shelf, boxes };
}
