/** Where the chunks of tensor groups are drawn, in CSS pixels. */
import { formatCount } from '@coxswain/units';
import type { TensorGroup } from '@coxswain/api-types';
import {
  chunkLengths,
  chunksOf,
  formatDivision,
  formatShape,
  isRest,
  KIND_WORDS,
  TENSOR_KINDS,
} from './tensor-groups.ts';

/** A chunk of a group. */
export interface ShardCell {
  readonly group: TensorGroup;
  /** From 0, in the order of the tensor's memory; undefined: there are too many to be drawn one by one. */
  readonly chunk: number | undefined;
  readonly x: number;
  readonly y: number;
  readonly widthPx: number;
  readonly heightPx: number;
}

/** A text: its left upper corner and the width it may take. */
export interface ShardLabel {
  readonly text: string;
  readonly kind: 'kind' | 'name' | 'facts';
  readonly x: number;
  readonly y: number;
  readonly widthPx: number;
}

export interface ShardGeometry {
  readonly heightPx: number;
  readonly cells: readonly ShardCell[];
  readonly labels: readonly ShardLabel[];
}

const TILE_PX = 220;
const GAP_PX = 18;
const LINE_PX = 16;
/** Name, shape and division. */
const LABELS_PX = 3 * LINE_PX + 2;
const KIND_LINE_PX = 24;
const LEAST_HEIGHT_PX = 20;
const MOST_HEIGHT_PX = 110;
/** Of a row of chunks. */
const ROW_PX = 4;
/** Smaller chunks would look like one. */
const LEAST_CELL_PX = 3;
/** More chunks are never that large. */
const MOST_CELLS = 4_096;

/**
 * A tile for each group but the rest, by kind: a rectangle in the proportions of its tensors, as far as it fits. The last dimension runs to the right, the others run down.
 */
export function layOutShards(groups: readonly TensorGroup[], widthPx: number): ShardGeometry {
  const columns = Math.max(1, Math.floor((widthPx + GAP_PX) / (TILE_PX + GAP_PX)));
  const tilePx = columns === 1 ? Math.min(widthPx, TILE_PX * 2) : TILE_PX;
  const cells: ShardCell[] = [];
  const labels: ShardLabel[] = [];
  let y = 0;
  for (const kind of TENSOR_KINDS) {
    const ofKind = groups.filter((group) => kindOf(group) === kind && !isRest(group));
    if (ofKind.length === 0) continue;
    labels.push({ text: KIND_WORDS[kind], kind: 'kind', x: 0, y: y + 2, widthPx });
    y += KIND_LINE_PX;
    for (let first = 0; first < ofKind.length; first += columns) {
      const row = ofKind.slice(first, first + columns);
      for (const [column, group] of row.entries()) {
        const x = column * (tilePx + GAP_PX);
        labels.push(...labelsOf(group, { x, y, widthPx: tilePx }));
        cells.push(...cellsOf(group, { x, y: y + LABELS_PX, widthPx: tilePx }));
      }
      y += LABELS_PX + Math.max(...row.map(heightOf)) + GAP_PX;
    }
  }
  return { heightPx: Math.max(0, y - GAP_PX), cells, labels };
}

/** The cell under a point, if any. */
export function shardAt({ cells }: ShardGeometry, x: number, y: number): ShardCell | undefined {
  return cells.find((cell) => x >= cell.x && x < cell.x + cell.widthPx && y >= cell.y && y < cell.y + cell.heightPx);
}

interface Tile {
  readonly x: number;
  readonly y: number;
  readonly widthPx: number;
}

function labelsOf(group: TensorGroup, { x, y, widthPx }: Tile): readonly ShardLabel[] {
  const count = group.tensors === 1 ? [] : [formatCount(group.tensors, 'tensor')];
  const facts = [`${formatShape(group.shape)} ${group.dtype}`, [...count, formatDivision(group)].join(' · ')];
  return [
    { text: group.name, kind: 'name', x, y, widthPx },
    ...facts.map((text, line) => ({ text, kind: 'facts' as const, x, y: y + (line + 1) * LINE_PX, widthPx })),
  ];
}

function cellsOf(group: TensorGroup, tile: Tile): readonly ShardCell[] {
  const heightPx = heightOf(group);
  const together: ShardCell = { group, chunk: undefined, ...tile, heightPx };
  if (chunksOf(group) <= 1) return [{ ...together, chunk: 0 }];
  if (chunksOf(group) > MOST_CELLS) return [together];
  const rows = scaled(rowLengths(group), heightPx);
  const columns = scaled(columnLengths(group), tile.widthPx);
  const least = Math.min(...[...rows, ...columns].map(({ lengthPx }) => lengthPx));
  if (least < LEAST_CELL_PX) return [together];
  return rows.flatMap((row, rowIndex) =>
    columns.map((column, columnIndex) => ({
      group,
      chunk: rowIndex * columns.length + columnIndex,
      x: tile.x + column.startPx,
      y: tile.y + row.startPx,
      widthPx: column.lengthPx,
      heightPx: row.lengthPx,
    })),
  );
}

/** Chunks of the last dimension. */
function columnLengths({ shape, grid }: TensorGroup): readonly number[] {
  return chunkLengths(shape.at(-1) ?? 1, grid.at(-1) ?? 1);
}

/** Chunks of all other dimensions, the first one outermost. */
function rowLengths({ shape, grid }: TensorGroup): readonly number[] {
  return shape
    .slice(0, -1)
    .reduce<readonly number[]>(
      (outer, size, dimension) =>
        outer.flatMap((length) => chunkLengths(size, grid[dimension] ?? 1).map((inner) => length * inner)),
      [1],
    );
}

/** In proportion to the width, and higher where its rows of chunks would be too low. */
function heightOf({ shape, grid }: TensorGroup): number {
  if (shape.length < 2) return LEAST_HEIGHT_PX;
  const rows = productOf(shape.slice(0, -1));
  const inProportion = (TILE_PX * rows) / Math.max(1, shape.at(-1) ?? 1);
  const height = Math.round(Math.min(MOST_HEIGHT_PX, Math.max(LEAST_HEIGHT_PX, inProportion)));
  return Math.max(height, Math.min(2 * MOST_HEIGHT_PX, ROW_PX * productOf(grid.slice(0, -1))));
}

function productOf(numbers: readonly number[]): number {
  return numbers.reduce((product, one) => product * one, 1);
}

interface Span {
  readonly startPx: number;
  readonly lengthPx: number;
}

function scaled(lengths: readonly number[], totalPx: number): readonly Span[] {
  const sum = Math.max(1, sumOf(lengths));
  let before = 0;
  return lengths.map((length) => {
    const startPx = (before / sum) * totalPx;
    before += length;
    return { startPx, lengthPx: (before / sum) * totalPx - startPx };
  });
}

function sumOf(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** A newer server can have kinds that this release does not know. */
function kindOf({ kind }: TensorGroup): (typeof TENSOR_KINDS)[number] {
  return TENSOR_KINDS.includes(kind) ? kind : 'other';
}
