import { distinctColor } from '../distinct-color.ts';
import { CELL, cornerOf, type FabricGeometry, isSeen, type LeafBox, type View } from './fabric-geometry.ts';
import type { FabricPageNode } from './fabric-tree.ts';

export interface FabricPicture {
  readonly geometry: FabricGeometry;
  readonly view: View;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly shownJob: number | undefined;
}

/** Smaller letters are not read. */
const LEAST_FONT_PX = 8;
/** In less a name is squeezed beyond reading. */
const LEAST_ROOM_PX = 16;
/** Ascenders reach above the line that a text hangs from. */
const TOP_PX = 2;
const FONT_PX = { island: 15, spine: 11, leaf: 10 } as const;
/** Of a label's own height, which grows with the zoom. */
const LABEL_UNITS = { island: 38, spine: 13, leaf: 11 } as const;

export function paintFabric(element: HTMLCanvasElement, picture: FabricPicture): void {
  const context = element.getContext('2d');
  if (context === null) return;
  const { geometry, view, widthPx, heightPx } = picture;
  const width = Math.round(widthPx * devicePixelRatio);
  const height = Math.round(heightPx * devicePixelRatio);
  // Setting a size clears the canvas and allocates it anew, which a frame cannot afford.
  if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
  const zoom = view.scale * devicePixelRatio;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(zoom, 0, 0, zoom, -view.x * zoom, -view.y * zoom);
  const style = getComputedStyle(element);
  const seen = geometry.leaves.filter((box) => isSeen(box, view, { width: widthPx, height: heightPx }));
  context.strokeStyle = style.getPropertyValue('--line');
  context.lineWidth = 1 / view.scale;
  for (const box of seen) context.strokeRect(box.x, box.y, box.width, box.height);
  paintNodes(context, seen, {
    free: style.getPropertyValue('--fabric-free'),
    unusable: style.getPropertyValue('--fabric-unusable'),
    others: style.getPropertyValue('--fabric-others'),
    shownJob: picture.shownJob,
  });
  paintLabels(context, picture, { island: style.getPropertyValue('--ink'), other: style.getPropertyValue('--muted') });
}

interface Inks {
  readonly free: string;
  readonly unusable: string;
  readonly others: string;
  readonly shownJob: number | undefined;
}

/** Color by color: a change of color costs more than a cell. */
function paintNodes(context: CanvasRenderingContext2D, seen: readonly LeafBox[], inks: Inks): void {
  const byColor = new Map<string, number[]>();
  const add = (color: string, ...rectangle: readonly number[]): void => {
    const known = byColor.get(color);
    if (known === undefined) byColor.set(color, [...rectangle]);
    else known.push(...rectangle);
  };
  for (const box of seen) {
    for (const [index, node] of box.leaf.nodes.entries()) {
      const { x, y } = cornerOf(box, box.slots[index] ?? 0);
      add(node.isUsable ? inks.free : inks.unusable, x, y, CELL, CELL);
      let left = x;
      for (const { job, gpus } of node.holds) {
        const width = Math.min(x + CELL - left, (CELL * gpus) / Math.max(1, node.gpus));
        add(
          inks.shownJob === undefined || inks.shownJob === job ? distinctColor(job) : OTHER_JOB,
          left,
          y,
          width,
          CELL,
        );
        left += width;
      }
      const width = Math.min(x + CELL - left, (CELL * (node.othersGpus ?? 0)) / Math.max(1, node.gpus));
      if (width > 0) add(inks.others, left, y, width, CELL);
    }
  }
  for (const [color, rectangles] of byColor) {
    context.fillStyle = color;
    for (let at = 0; at < rectangles.length; at += 4) {
      context.fillRect(rectangles[at] ?? 0, rectangles[at + 1] ?? 0, rectangles[at + 2] ?? 0, rectangles[at + 3] ?? 0);
    }
  }
}

const OTHER_JOB = '#94a3b866';

function paintLabels(
  context: CanvasRenderingContext2D,
  { geometry, view, widthPx, heightPx }: FabricPicture,
  inks: { readonly island: string; readonly other: string },
): void {
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.textBaseline = 'top';
  for (const { text, kind, x, y, width } of geometry.labels) {
    const fontPx = Math.min(FONT_PX[kind], LABEL_UNITS[kind] * view.scale);
    const height = LABEL_UNITS[kind];
    if (fontPx < LEAST_FONT_PX || !isSeen({ x, y, width, height }, view, { width: widthPx, height: heightPx }))
      continue;
    context.fillStyle = kind === 'island' ? inks.island : inks.other;
    context.font = `${kind === 'island' ? '600 ' : ''}${fontPx}px system-ui, sans-serif`;
    const leftPx = (x - view.x) * view.scale;
    // The names of islands and spines stay in sight as long as something of them is.
    const shownPx = kind === 'leaf' ? leftPx : Math.max(4, leftPx);
    const roomPx = leftPx + width * view.scale - shownPx;
    if (roomPx > LEAST_ROOM_PX) context.fillText(text, shownPx, (y - view.y) * view.scale + TOP_PX, roomPx);
  }
}

/** Frames a node without painting the canvas again. */
export function placeCursor(
  cursor: HTMLElement | null,
  { geometry, view, node }: Pick<FabricPicture, 'geometry' | 'view'> & { readonly node: FabricPageNode | undefined },
): void {
  if (cursor === null) return;
  const box = node === undefined ? undefined : geometry.leaves.find(({ leaf }) => leaf.nodes.includes(node));
  cursor.hidden = box === undefined || node === undefined;
  if (box === undefined || node === undefined) return;
  const corner = cornerOf(box, box.slots[box.leaf.nodes.indexOf(node)] ?? 0);
  const sizePx = `${CELL * view.scale}px`;
  Object.assign(cursor.style, {
    left: `${(corner.x - view.x) * view.scale}px`,
    top: `${(corner.y - view.y) * view.scale}px`,
    width: sizePx,
    height: sizePx,
  });
}
