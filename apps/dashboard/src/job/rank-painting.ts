/** Paints the ranks of one island on a canvas. */
import { distinctColor } from '../distinct-color.ts';
import { fittedText } from '../fitted-text.ts';
import { slowness, type IslandGeometry, type Pace } from './rank-geometry.ts';

/** What ranks are colored by. */
export type Coloring = 'pace' | 'stage';

/** An island as it is painted. */
export interface IslandPicture {
  readonly geometry: IslandGeometry;
  readonly widthPx: number;
  readonly pace: Pace;
  readonly coloring: Coloring;
}

/** Sets the size of the canvas, in pixels of the screen, and paints frames, names and ranks. */
export function paintIsland(element: HTMLCanvasElement, { geometry, widthPx, pace, coloring }: IslandPicture): void {
  const context = element.getContext('2d');
  if (context === null) return;
  const color = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  const { cellPx, cells, boxes, labels, heightPx } = geometry;
  element.width = Math.round(widthPx * devicePixelRatio);
  element.height = Math.round(heightPx * devicePixelRatio);
  context.scale(devicePixelRatio, devicePixelRatio);
  context.strokeStyle = color('--line');
  for (const box of boxes) context.strokeRect(box.x + 0.5, box.y + 0.5, box.widthPx - 1, box.heightPx - 1);
  context.textBaseline = 'top';
  const inks = { leaf: color('--muted'), domain: color('--ink'), node: color('--muted') };
  for (const label of labels) {
    context.fillStyle = inks[label.kind];
    context.font = label.kind === 'domain' ? '600 11px system-ui, sans-serif' : '11px system-ui, sans-serif';
    context.fillText(fittedText(label.text, label.widthPx, context), label.x, label.y);
  }
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.font = `600 ${Math.min(13, cellPx / 2)}px system-ui, sans-serif`;
  const isPace = coloring === 'pace';
  for (const { place, x, y } of cells) {
    context.fillStyle = isPace ? colorOf(slowness(place, pace)) : distinctColor(place.pipelineIndex);
    context.fillRect(x, y, cellPx, cellPx);
    if (cellPx < 24) continue;
    context.fillStyle = isPace ? inkOn(slowness(place, pace)) : '#fff';
    context.fillText(String(place.rank), x + cellPx / 2, y + cellPx / 2);
  }
}

const SHADES = 32;
/** Teal at the median, amber half as slow again, red at twice the median; no green in between, which would look like praise. */
const STOPS = [
  [15, 110, 122],
  [245, 158, 11],
  [200, 30, 30],
] as const;
const RAMP = Array.from({ length: SHADES + 1 }, (_, shade) => {
  const position = (shade / SHADES) * (STOPS.length - 1);
  const [from, to] = position < 1 ? [STOPS[0], STOPS[1]] : [STOPS[1], STOPS[2]];
  const part = position < 1 ? position : position - 1;
  return `rgb(${from.map((value, i) => Math.round(value + ((to[i] ?? value) - value) * part)).join(' ')})`;
});

function colorOf(slow: number | null): string {
  return slow === null ? '#64748b' : (RAMP[Math.round(slow * SHADES)] ?? '#64748b');
}

/** Dark on the light middle of the ramp, white on its ends: at least 4 to 1. */
function inkOn(slow: number | null): string {
  return slow !== null && slow > 0.25 && slow < 0.8 ? '#0f172a' : '#fff';
}
