/** How a layout divides tensors: the boxes that its ranks hold. */
import type { Box } from '../read/saved-state.ts';

/** A box of a tensor, and the rank that stores it. */
export interface RankBox extends Box {
  readonly rank: number;
}

/** A rule that divides a tensor. Boxes that several ranks hold are stored once. */
export type Division = (tensor: { readonly key: string; readonly shape: readonly number[] }) => readonly RankBox[];

/** Ranks along each dim of a tensor; dims without a number are whole. */
export type Grid = Readonly<Record<number, number>>;

/**
 * Divides each tensor by a grid, as PyTorch's `torch.chunk` does: all pieces but the last ones have the same size, rounded up, and some ranks may have none. The last dim
 * of the grid moves fastest over the ranks. Dims that the tensor does not have are left out.
 */
export function divideByGrid(gridOf: (key: string) => Grid): Division {
  return ({ key, shape }) => boxesOf(shape, gridOf(key));
}

/** FSDP: rows over `ranks`. */
export function divideRows(ranks: number): Division {
  return divideByGrid(() => ({ 0: ranks }));
}

/** The second dim over `ranks`; vectors by their only dim. */
export function divideColumns(ranks: number): Division {
  return ({ shape }) => boxesOf(shape, shape.length < 2 ? { 0: ranks } : { 1: ranks });
}

function boxesOf(shape: readonly number[], grid: Grid): readonly RankBox[] {
  const cuts = shape.map((size, dim) => cutOf(size, grid[dim] ?? 1));
  const boxes: RankBox[] = [];
  const index = shape.map(() => 0);
  for (let left = cuts.reduce((product, { parts }) => product * parts, 1); left > 0; left--) {
    boxes.push(boxAt(shape, cuts, index));
    for (let dim = shape.length - 1; dim >= 0; dim--) {
      index[dim] = (index[dim] ?? 0) + 1;
      if ((index[dim] ?? 0) < (cuts[dim]?.parts ?? 1)) break;
      index[dim] = 0;
    }
  }
  return boxes;
}

/** How a dim is cut: all parts have the size `each`, but the last one. */
export interface Cut {
  readonly ranks: number;
  readonly each: number;
  readonly parts: number;
}

/** Cuts a dim as `torch.chunk` does. An empty dim has one part. */
export function cutOf(size: number, ranks: number): Cut {
  const each = Math.max(1, Math.ceil(size / ranks));
  return { ranks, each, parts: Math.max(1, Math.ceil(size / each)) };
}

function boxAt(shape: readonly number[], cuts: readonly Cut[], index: readonly number[]): RankBox {
  const offsets: number[] = [];
  const sizes: number[] = [];
  let rank = 0;
  for (const [dim, { ranks, each }] of cuts.entries()) {
    const offset = (index[dim] ?? 0) * each;
    offsets.push(offset);
    sizes.push(Math.min(each, (shape[dim] ?? 0) - offset));
    rank = rank * ranks + (index[dim] ?? 0);
  }
  return { offsets, sizes, rank };
}
