/** Paints the chunks of tensor groups on a canvas. */
import { distinctColor } from '../distinct-color.ts';
import { fittedText } from '../fitted-text.ts';
import type { ShardCell, ShardGeometry } from './shard-geometry.ts';

const FONT = 'system-ui, sans-serif';
/** Smaller chunks have no number. */
const NUMBERED_PX = { width: 20, height: 15 };

/** Sets the size of the canvas, in pixels of the screen, and paints chunks and texts. */
export function paintShards(element: HTMLCanvasElement, geometry: ShardGeometry, widthPx: number): void {
  const context = element.getContext('2d');
  if (context === null) return;
  const color = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  element.width = Math.round(widthPx * devicePixelRatio);
  element.height = Math.round(geometry.heightPx * devicePixelRatio);
  context.scale(devicePixelRatio, devicePixelRatio);
  context.textBaseline = 'top';
  const inks = { kind: color('--ink'), name: color('--ink'), facts: color('--muted') };
  const fonts = { kind: `600 13px ${FONT}`, name: `12px ${FONT}`, facts: `11px ${FONT}` };
  for (const label of geometry.labels) {
    context.fillStyle = inks[label.kind];
    context.font = fonts[label.kind];
    context.fillText(fittedText(label.text, label.widthPx, context), label.x, label.y);
  }
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.font = `600 11px ${FONT}`;
  const unknown = color('--idle');
  for (const cell of geometry.cells) paintCell(context, cell, unknown);
}

function paintCell(context: CanvasRenderingContext2D, cell: ShardCell, unknown: string): void {
  const { chunk, x, y, widthPx, heightPx } = cell;
  context.fillStyle = chunk === undefined ? unknown : distinctColor(chunk);
  // A line of the page between chunks that are large enough to lose it.
  const gapPx = Math.min(widthPx, heightPx) > 4 ? 1 : 0;
  context.fillRect(x, y, widthPx - gapPx, heightPx - gapPx);
  if (chunk === undefined || widthPx < NUMBERED_PX.width || heightPx < NUMBERED_PX.height) return;
  context.fillStyle = '#fff';
  context.fillText((chunk + 1).toLocaleString('en'), x + widthPx / 2, y + heightPx / 2);
}
