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
  let boxes: readonly RankBox[] = [{ offsets: [], sizes: [], rank: 0 }];
  for (const [dim, size] of shape.entries()) {
    const ranks = grid[dim] ?? 1;
    const each = Math.max(1, Math.ceil(size / ranks));
    boxes = boxes.flatMap((box) =>
      rangesOf(size, each).map((from, index) => ({
        offsets: [...box.offsets, from],
        sizes: [...box.sizes, Math.min(each, size - from)],
        rank: box.rank * ranks + index,
      })),
    );
  }
  return boxes;
}

/** Where the ranges of a dim begin; an empty dim has one. */
function rangesOf(size: number, each: number): readonly number[] {
  return Array.from({ length: Math.max(1, Math.ceil(size / each)) }, (_, index) => index * each);
}
