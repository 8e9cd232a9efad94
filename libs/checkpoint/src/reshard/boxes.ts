/** Boxes of tensors: where they meet, and how their bytes follow each other. */
import { type Box, volumeOf } from '../read/saved-state.ts';

/** The box in which two boxes of equally many dims meet; undefined: they do not. */
export function intersect(one: Box, other: Box): Box | undefined {
  const offsets: number[] = [];
  const sizes: number[] = [];
  for (let dim = 0; dim < one.offsets.length; dim++) {
    const from = Math.max(one.offsets[dim] ?? 0, other.offsets[dim] ?? 0);
    const to = Math.min(endOf(one, dim), endOf(other, dim));
    if (to <= from) return undefined;
    offsets.push(from);
    sizes.push(to - from);
  }
  return { offsets, sizes };
}

/** First index of a dim that is behind the box. */
export function endOf({ offsets, sizes }: Box, dim: number): number {
  return (offsets[dim] ?? 0) + (sizes[dim] ?? 1);
}

/** Elements from the first one of `box` to that at `at`, which is in the box, if the last dim moves fastest. */
export function placeIn(box: Box, at: readonly number[]): number {
  return at.reduce((place, index, dim) => place * (box.sizes[dim] ?? 1) + index - (box.offsets[dim] ?? 0), 0);
}

/** A box whose bytes are here, the last dim moving fastest. */
export interface FilledBox extends Box {
  readonly bytes: Uint8Array;
}

/**
 * Copies the elements of `part` from one box to another. `part` is within both. Elements that follow each other in both are copied at once.
 */
export function copyPart(from: FilledBox, to: FilledBox, part: Box, itemBytes: number): void {
  const { leading, runBytes } = runsOf(from, to, part, itemBytes);
  const steps = [stepsOf(from, leading, itemBytes), stepsOf(to, leading, itemBytes)] as const;
  let source = placeIn(from, part.offsets) * itemBytes;
  let target = placeIn(to, part.offsets) * itemBytes;
  const index = new Array<number>(leading).fill(0);
  for (;;) {
    to.bytes.set(from.bytes.subarray(source, source + runBytes), target);
    let dim = leading - 1;
    for (; dim >= 0; dim--) {
      source += steps[0][dim] ?? 0;
      target += steps[1][dim] ?? 0;
      index[dim] = (index[dim] ?? 0) + 1;
      const size = part.sizes[dim] ?? 1;
      if ((index[dim] ?? 0) < size) break;
      source -= size * (steps[0][dim] ?? 0);
      target -= size * (steps[1][dim] ?? 0);
      index[dim] = 0;
    }
    if (dim < 0) return;
  }
}

/** Whether the elements of `part` follow each other in `box`, and where they begin there, in elements. */
export function runIn(box: Box, part: Box): number | undefined {
  const { leading } = runsOf(box, part, part, 1);
  const isOneRun = part.sizes.slice(0, leading).every((size) => size === 1);
  return isOneRun ? placeIn(box, part.offsets) : undefined;
}

/** How many dims must be walked, and the bytes that follow each other below them. */
function runsOf(
  from: Box,
  to: Box,
  part: Box,
  itemBytes: number,
): { readonly leading: number; readonly runBytes: number } {
  let leading = part.sizes.length;
  const isWhole = (dim: number): boolean => from.sizes[dim] === part.sizes[dim] && to.sizes[dim] === part.sizes[dim];
  while (leading > 0 && isWhole(leading - 1)) leading--;
  // The dim before those that are whole adds to the run.
  leading = Math.max(0, leading - 1);
  return { leading, runBytes: volumeOf(part.sizes.slice(leading)) * itemBytes };
}

/** Bytes from one index of each of the first dims to the next. */
function stepsOf({ sizes }: Box, dims: number, itemBytes: number): readonly number[] {
  return Array.from({ length: dims }, (_, dim) => volumeOf(sizes.slice(dim + 1)) * itemBytes);
}
