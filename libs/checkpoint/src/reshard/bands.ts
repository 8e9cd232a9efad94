/**
 * Divides the copy of a tensor into bands. A band is so narrow that its bytes follow each other in every chunk, the old and the new. Bands come in the order of
 * those bytes: so each byte is read once and written once, both from start to end, and checksums run along.
 */
import { type Box, volumeOf } from '../read/saved-state.ts';
import { endOf, intersect, placeIn } from './boxes.ts';

/** The part of a chunk that is in a band. */
export interface BandPart {
  /** Which chunk: its place in the list. */
  readonly chunk: number;
  readonly box: Box;
  /** Bytes of the chunk before it. */
  readonly offset: number;
  readonly length: number;
}

/** A step of the copy. */
export interface Band {
  readonly reads: readonly BandPart[];
  readonly writes: readonly BandPart[];
}

/** A tensor whose elements move from some boxes to others. Both cover it. */
export interface MovedTensor {
  readonly shape: readonly number[];
  /** Bytes of one element. */
  readonly itemBytes: number;
  readonly sources: readonly Box[];
  readonly targets: readonly Box[];
}

interface NumberedBox {
  readonly chunk: number;
  readonly box: Box;
}

/** The bands of a tensor, each of at most `maxBytes`, or of one element. */
export function* bandsOf(tensor: MovedTensor, maxBytes: number): Generator<Band> {
  const whole = { offsets: tensor.shape.map(() => 0), sizes: [...tensor.shape] };
  if (volumeOf(tensor.shape) === 0) return;
  yield* bandsWithin({ tensor, maxBytes }, whole, 0, {
    reads: numbered(tensor.sources),
    writes: numbered(tensor.targets),
  });
}

interface Walk {
  readonly tensor: MovedTensor;
  readonly maxBytes: number;
}

interface Sides {
  readonly reads: readonly NumberedBox[];
  readonly writes: readonly NumberedBox[];
}

/** `within` has one index in each dim before `dim`, and is whole from there on. */
function* bandsWithin(walk: Walk, within: Box, dim: number, sides: Sides): Generator<Band> {
  const { itemBytes } = walk.tensor;
  const bytes = volumeOf(within.sizes) * itemBytes;
  const size = within.sizes[dim];
  if (size === undefined || bytes <= walk.maxBytes) {
    yield bandOf(within, sides, itemBytes);
    return;
  }
  const rowBytes = bytes / size;
  const rows = Math.max(1, Math.floor(walk.maxBytes / rowBytes));
  const sweeps = { reads: sweep(sides.reads, dim), writes: sweep(sides.writes, dim) };
  for (let from = 0; from < size; from += rows) {
    const taken = Math.min(rows, size - from);
    const band = slice(within, dim, from, taken);
    const touched = { reads: sweeps.reads(from, from + taken), writes: sweeps.writes(from, from + taken) };
    if (rowBytes > walk.maxBytes) yield* bandsWithin(walk, band, dim + 1, touched);
    else yield bandOf(band, touched, itemBytes);
  }
}

function slice({ offsets, sizes }: Box, dim: number, from: number, size: number): Box {
  return { offsets: offsets.with(dim, from), sizes: sizes.with(dim, size) };
}

function bandOf(within: Box, { reads, writes }: Sides, itemBytes: number): Band {
  const partsOf = (boxes: readonly NumberedBox[]): readonly BandPart[] =>
    boxes.flatMap(({ chunk, box: whole }) => {
      const box = intersect(whole, within);
      if (box === undefined) return [];
      const offset = placeIn(whole, box.offsets) * itemBytes;
      return [{ chunk, box, offset, length: volumeOf(box.sizes) * itemBytes }];
    });
  return { reads: partsOf(reads), writes: partsOf(writes) };
}

function numbered(boxes: readonly Box[]): readonly NumberedBox[] {
  return boxes.map((box, chunk) => ({ chunk, box }));
}

/** Gives, for ranges of a dim that only move forward, the boxes that reach into them: each box enters once and leaves once. */
function sweep(boxes: readonly NumberedBox[], dim: number): (from: number, to: number) => readonly NumberedBox[] {
  const waiting = boxes.toSorted((one, other) => (one.box.offsets[dim] ?? 0) - (other.box.offsets[dim] ?? 0));
  let next = 0;
  let active: NumberedBox[] = [];
  return (from, to) => {
    active = active.filter(({ box }) => endOf(box, dim) > from);
    for (let box = waiting[next]; box !== undefined && (box.box.offsets[dim] ?? 0) < to; box = waiting[++next]) {
      if (endOf(box.box, dim) > from) active.push(box);
    }
    return active;
  };
}
