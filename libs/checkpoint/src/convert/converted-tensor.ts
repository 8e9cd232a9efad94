/** What a conversion writes, in one form for all: tensors, each with the elements of the source that it is made of. */
import { type SavedTensor, volumeOf } from '../read/saved-state.ts';

/** Elements that follow each other in a tensor of the source and in the new one, the last dim of each moving fastest. */
export interface SourcePiece {
  readonly source: SavedTensor;
  /** Elements of the source tensor before them. */
  readonly from: number;
  /** Elements of the new tensor before them. */
  readonly to: number;
  readonly length: number;
}

/** A tensor of the new save. */
export interface ConvertedTensor {
  readonly key: string;
  readonly dtype: string;
  /** Of the tensors that it is made of. */
  readonly sourceDtype: string;
  readonly shape: readonly number[];
  /** The tensors that it is made of, where they are known without all pieces. */
  readonly sources?: readonly SavedTensor[];
  /** What the elements from `from` to before `to` are made of, in their order and without holes. */
  readonly pieces: (from: number, to: number) => Iterable<SourcePiece>;
}

/** The tensor as it is, under the same name. */
export function unchangedTensor(source: SavedTensor): ConvertedTensor {
  const { key, dtype, shape } = source;
  return {
    key,
    dtype,
    sourceDtype: dtype,
    shape,
    pieces: (from, to) => (to > from ? [{ source, from, to: from, length: to - from }] : []),
  };
}

/** Tensors of the source that a conversion reads. */
export function sourcesOf({ pieces, shape, sources: known }: ConvertedTensor): ReadonlySet<SavedTensor> {
  const sources = new Set<SavedTensor>(known);
  if (known !== undefined) return sources;
  for (const { source } of pieces(0, volumeOf(shape))) sources.add(source);
  return sources;
}

/** Pieces that continue each other become one. */
export function* mergedPieces(pieces: Iterable<SourcePiece>): Generator<SourcePiece> {
  let open: SourcePiece | undefined;
  for (const piece of pieces) {
    if (open?.source === piece.source && open.from + open.length === piece.from && open.to + open.length === piece.to) {
      open = { ...open, length: open.length + piece.length };
      continue;
    }
    if (open !== undefined) yield open;
    open = piece;
  }
  if (open !== undefined) yield open;
}
