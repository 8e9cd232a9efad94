/** Whether the chunks of a tensor are the tensor: each element in one of them, none in two. */
import { type Box, type SavedTensor, volumeOf } from '../read/saved-state.ts';

/** Comparisons of boxes for all tensors of a save. Real saves need a few for each chunk; only boxes that were made to overlap need more. */
const MAX_COMPARISONS = 5_000_000;

/** The comparisons that are left for the tensors of one save. */
export interface Comparisons {
  left: number;
}

/** Those of a save before its first tensor. */
export function allComparisons(): Comparisons {
  return { left: MAX_COMPARISONS };
}

/** What is wrong, as the end of a sentence that starts with the tensor; undefined: nothing. */
export function describeCoverage({ shape, chunks }: SavedTensor, comparisons = allComparisons()): string | undefined {
  const outside = chunks.find(({ offsets, sizes }) =>
    offsets.some((offset, dim) => offset + (sizes[dim] ?? 0) > (shape[dim] ?? 0)),
  );
  if (outside !== undefined)
    return `has a chunk at ${bracketed(outside.offsets)} of size ${bracketed(outside.sizes)}, which is outside of its shape ${bracketed(shape)}`;
  const full = chunks.filter(({ sizes }) => volumeOf(sizes) > 0);
  const overlap = findOverlap(full, shape.length, comparisons);
  if (overlap === 'too many') return 'has chunks that overlap too much to be compared';
  if (overlap !== undefined)
    return `has chunks at ${bracketed(overlap[0].offsets)} and ${bracketed(overlap[1].offsets)} that overlap`;
  const missing = volumeOf(shape) - full.reduce((sum, { sizes }) => sum + volumeOf(sizes), 0);
  return missing > 0
    ? `lacks ${String(missing)} of its ${String(volumeOf(shape))} elements: no chunk holds them`
    : undefined;
}

/** Sweeps along the dim with the most starts, so that few boxes are open at a time. */
function findOverlap(
  boxes: readonly Box[],
  dims: number,
  comparisons: Comparisons,
): readonly [Box, Box] | 'too many' | undefined {
  if (dims === 0) return boxes.length > 1 ? ([boxes[0], boxes[1]] as [Box, Box]) : undefined;
  if (isGrid(boxes, dims)) return sameCell(boxes);
  const dim = busiestDim(boxes, dims);
  const sorted = boxes.toSorted((one, other) => startOf(one, dim) - startOf(other, dim));
  let open: Box[] = [];
  for (const box of sorted) {
    open = open.filter((other) => startOf(other, dim) + (other.sizes[dim] ?? 0) > startOf(box, dim));
    comparisons.left -= open.length + 1;
    if (comparisons.left < 0) return 'too many';
    const overlapping = open.find((other) => isOverlap(box, other));
    if (overlapping !== undefined) return [overlapping, box];
    open.push(box);
  }
  return undefined;
}

/** Whether the boxes are cells of one grid, as nearly all saves are: on each dim, intervals that differ do not overlap. */
function isGrid(boxes: readonly Box[], dims: number): boolean {
  for (let dim = 0; dim < dims; dim++) {
    const sizeAt = new Map<number, number>();
    for (const box of boxes) {
      const size = box.sizes[dim] ?? 0;
      const known = sizeAt.get(startOf(box, dim));
      if (known !== undefined && known !== size) return false;
      sizeAt.set(startOf(box, dim), size);
    }
    const starts = [...sizeAt.keys()].toSorted((one, other) => one - other);
    const isOverlapping = starts.some((start, at) => start + (sizeAt.get(start) ?? 0) > (starts[at + 1] ?? Infinity));
    if (isOverlapping) return false;
  }
  return true;
}

/** Cells of a grid overlap if they are the same cell. */
function sameCell(boxes: readonly Box[]): readonly [Box, Box] | undefined {
  const seen = new Map<string, Box>();
  for (const box of boxes) {
    const cell = box.offsets.join();
    const other = seen.get(cell);
    if (other !== undefined) return [other, box];
    seen.set(cell, box);
  }
  return undefined;
}

function busiestDim(boxes: readonly Box[], dims: number): number {
  const starts = Array.from({ length: dims }, (_, dim) => new Set(boxes.map((box) => box.offsets[dim])).size);
  return starts.indexOf(Math.max(...starts));
}

function startOf(box: Box, dim: number): number {
  return box.offsets[dim] ?? 0;
}

function isOverlap(one: Box, other: Box): boolean {
  return one.offsets.every(
    (start, dim) =>
      start < startOf(other, dim) + (other.sizes[dim] ?? 0) && startOf(other, dim) < start + (one.sizes[dim] ?? 0),
  );
}

function bracketed(numbers: readonly number[]): string {
  return `[${numbers.join(', ')}]`;
}
