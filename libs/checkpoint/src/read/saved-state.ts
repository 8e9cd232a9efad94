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

/** What a tensor is for. master: the copy in float32 of a parameter that trains in fewer bits. moment: a running mean of the optimizer. */
export type TensorKind = 'parameter' | 'master' | 'moment' | 'other';

/** A tensor. */
export interface SavedTensor {
  /** Its name, such as `model.layers.0.weight`. */
  readonly key: string;
  /** As PyTorch calls it, without `torch.`. */
  readonly dtype: string;
  /** Elements along each dim of the whole tensor. */
  readonly shape: readonly number[];
  /** undefined: neither its name nor its format says. */
  readonly kind?: TensorKind;
  /** A reader can make them each time that they are read: read those of one tensor, then those of the next. */
  readonly chunks: readonly SavedChunk[];
}

/** Anything but a tensor, as its engine pickled it. */
export interface SavedObject {
  readonly key: string;
  readonly item: StoredItem | undefined;
}

/** Whether a save holds something; undefined: its format does not say. */
export type Holds = boolean | undefined;

/** Rows of the embedding. Megatron-LM pads them, so that tensor-parallel ranks have equally many. */
export interface SavedVocabulary {
  /** Padding included. */
  readonly rows: number;
  /** Rows that are words. */
  readonly words?: number;
  /** Rows are padded to a multiple of this times the tensor-parallel degree. */
  readonly multipleOf?: number;
}

/** What a save says about itself beside its tensors, as far as its format tells. */
export interface SavedFacts {
  readonly step?: number;
  /** The engine's name and release, such as `deepspeed 0.18.1`. */
  readonly engineRelease?: string;
  /** How the optimizer's state is divided, as its engine calls it: `dp_reshardable`, `fully_reshardable`, `zero1` to `zero3`, `universal`. unsharded: data-parallel ranks do not divide it. */
  readonly optimizerSharding?: string;
  /** Ranks that saved it. */
  readonly worldSize?: number;
  /** Degrees of the layout that saved it, by the names of the fields of a layout, such as `tensorParallelDegree`. */
  readonly degrees?: Readonly<Record<string, number>>;
  readonly vocabulary?: SavedVocabulary;
  readonly holds: {
    readonly optimizer: Holds;
    readonly randomStates: Holds;
    readonly dataLoader: Holds;
    readonly scheduler: Holds;
  };
}

/** All that a save holds. */
export interface SavedState {
  readonly tensors: readonly SavedTensor[];
  readonly objects: readonly SavedObject[];
  /** Absent: the reader of its format does not look for them. */
  readonly facts?: SavedFacts;
}

/** Number of elements in a box of these sizes; Infinity beyond 2^1023. */
export function volumeOf(sizes: readonly number[]): number {
  return sizes.reduce((product, size) => product * size, 1);
}
