/** What a save says that it holds, in one form for all formats. */

/** Where an item is: `length` bytes of a file from `offset` on. */
export interface StoredItem {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  /** How the item was changed before it was written, such as `stream.zstd/1`. Absent: it was not. */
  readonly transforms?: readonly string[];
}

/** A box of a tensor: the element at `offsets`, and `sizes` elements on along each dim. */
export interface Box {
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
}

/** A box of a tensor that is stored as one item. */
export interface SavedChunk extends Box {
  /** undefined: nothing says where it is. */
  readonly item: StoredItem | undefined;
}

/** A tensor. */
export interface SavedTensor {
  /** Its name, such as `model.layers.0.weight`. */
  readonly key: string;
  /** As PyTorch calls it, without `torch.`. */
  readonly dtype: string;
  /** Elements along each dim of the whole tensor. */
  readonly shape: readonly number[];
  readonly chunks: readonly SavedChunk[];
}

/** Anything but a tensor, as its engine pickled it. */
export interface SavedObject {
  readonly key: string;
  readonly item: StoredItem | undefined;
}

/** All that a save holds. */
export interface SavedState {
  readonly tensors: readonly SavedTensor[];
  readonly objects: readonly SavedObject[];
}

/** Number of elements in a box of these sizes; Infinity beyond 2^1023. */
export function volumeOf(sizes: readonly number[]): number {
  return sizes.reduce((product, size) => product * size, 1);
}
