/** Reads `.metadata` of PyTorch Distributed Checkpoint, which Megatron's `torch_dist` writes too. */
import type { SavedChunk, SavedObject, SavedState, SavedTensor, StoredItem } from '../../read/saved-state.ts';
import { UnknownForm, UnreadableSave } from '../../read/unreadable-save.ts';
import { usualDtype } from '../../read/dtypes.ts';
import { PickleDict, PickleGlobal, PickleObject, type PickleValue } from '../pickle/pickle-value.ts';
import { readPickle } from '../pickle/read-pickle.ts';
import { DcpRecords, isSizes, METADATA, STORAGE_INFO, textOf } from './dcp-records.ts';

/** Megatron-Core 0.15 writes a class of its own, which has the fields of PyTorch’s. */
const MEGATRON_METADATA = 'megatron.core.dist_checkpointing.strategies.torch.MCoreMetadata';

/** Bytes of metadata that a chunk or an item takes at least. In a pickle a value costs two bytes each time that it is used again. */
const BYTES_OF_CHUNK = 16;

/** In place of the row of an item: nothing says where it is. */
const NO_ITEM = -1;

/**
 * Tensors, their chunks and objects of a save. Chunks are made from rows of numbers each time that `chunks` is read; those of the tensor that
 * was read last are kept.
 * @throws UnreadableSave if the bytes are no such metadata.
 */
export function readDcpMetadata(metadata: Uint8Array): SavedState {
  const records = new DcpRecords(metadata.length);
  const value = readPickle(metadata, records.forms);
  const isMegatron = value instanceof PickleObject && value.path === MEGATRON_METADATA;
  const root = stateOf(value, isMegatron ? MEGATRON_METADATA : `${METADATA}.Metadata`);
  const tensors = new Map<string, OpenTensor>();
  let parts = Math.floor(metadata.length / BYTES_OF_CHUNK);
  const objects = new Map<string, { readonly key: string; item: StoredItem | undefined }>();
  eachEntry(root.get('state_dict_metadata'), 'state_dict_metadata', (key, value) => {
    const name = textOf(key, 'the name of a tensor');
    if (isA(value, 'BytesStorageMetadata')) objects.set(name, { key: name, item: undefined });
    else {
      const tensor = new OpenTensor(name, value, records, parts);
      parts -= tensor.chunks.length;
      tensors.set(name, tensor);
    }
  });
  eachEntry(root.get('storage_data'), 'storage_data', (key, info) => {
    if (--parts < 0) throw tooManyParts();
    const index = rowOf(key, `${METADATA}.MetadataIndex`);
    const item = rowOf(info, STORAGE_INFO);
    const name = records.nameOf(index);
    const tensor = tensors.get(name);
    const object = objects.get(name);
    // An item without an owner is one that no engine loads. If a tensor misses it, the tensor has a hole.
    if (tensor !== undefined) tensor.place(index, item);
    else if (object !== undefined) object.item = records.itemOf(item);
  });
  const lastRead = { tensor: undefined, chunks: [] };
  return {
    tensors: [...tensors.values()].map((tensor) => tensor.close(lastRead)),
    objects: [...objects.values()] satisfies SavedObject[],
  };
}

/** The chunks that were made last, and whose they are. */
interface LastRead {
  tensor: OpenTensor | undefined;
  chunks: readonly SavedChunk[];
}

/** A tensor while items are joined to its chunks. */
class OpenTensor {
  readonly #key: string;
  readonly #dtype: string;
  readonly #shape: readonly number[];
  readonly #records: DcpRecords;
  /** Rows of chunks. */
  readonly chunks: Float64Array;
  /** The row of each chunk's item. */
  readonly #items: Float64Array;
  /** Chunks by their offsets; made for the first item whose index does not name its chunk. */
  #byOffsets: ReadonlyMap<string, number> | undefined;

  constructor(key: string, value: PickleValue, records: DcpRecords, maxChunks: number) {
    const fields = stateOf(value, `${METADATA}.TensorStorageMetadata`);
    const shape = fields.get('size');
    if (!isSizes(shape)) throw noSizes(key);
    const chunks = fields.get('chunks');
    if (!Array.isArray(chunks)) throw new UnreadableSave(`Tensor ${key} has no list of chunks`);
    if (chunks.length > maxChunks) throw tooManyParts();
    this.#key = key;
    this.#dtype = dtypeOf(fields.get('properties'), key);
    this.#shape = shape;
    this.#records = records;
    this.chunks = Float64Array.from(chunks, (chunk) => rowOf(chunk, `${METADATA}.ChunkStorageMetadata`));
    this.#items = new Float64Array(chunks.length).fill(NO_ITEM);
    for (const chunk of this.chunks) this.#checkDims(records.hasDims(chunk, shape.length));
  }

  #checkDims(hasDims: boolean | undefined): void {
    if (hasDims === undefined) throw noSizes(this.#key);
    if (!hasDims) throw new UnreadableSave(`A chunk of tensor ${this.#key} has not as many dims as the tensor`);
  }

  /** PyTorch compares name and offset; the index is a hint (MetadataIndex, `compare=False`). */
  place(index: number, item: number): void {
    const offsets = this.#records.offsetsOf(index);
    if (offsets === undefined) return;
    const hint = this.#records.hintOf(index);
    const hinted = this.chunks[hint];
    const at = hinted !== undefined && this.#records.isSame(hinted, offsets) ? hint : this.#find(offsets);
    if (at !== undefined) this.#items[at] = item;
  }

  #find(offsets: number): number | undefined {
    this.#byOffsets ??= new Map([...this.chunks].map((chunk, at) => [this.#records.sizesAt(chunk).join(), at]));
    return this.#byOffsets.get(this.#records.sizesAt(offsets).join());
  }

  close(lastRead: LastRead): SavedTensor {
    const read = (): readonly SavedChunk[] => {
      if (lastRead.tensor !== this) {
        lastRead.chunks = this.#readChunks();
        lastRead.tensor = this;
      }
      return lastRead.chunks;
    };
    return {
      key: this.#key,
      dtype: this.#dtype,
      shape: this.#shape,
      get chunks() {
        return read();
      },
    };
  }

  #readChunks(): readonly SavedChunk[] {
    return Array.from(this.chunks, (chunk, at) => {
      const item = this.#items[at] ?? NO_ITEM;
      return { ...this.#records.boxOf(chunk), item: item === NO_ITEM ? undefined : this.#records.itemOf(item) };
    });
  }
}

function tooManyParts(): UnreadableSave {
  return new UnreadableSave('It holds more chunks and items than its size explains');
}

function noSizes(key: string): UnreadableSave {
  return new UnreadableSave(`Tensor ${key} has sizes that no tensor has`);
}

/** The first field of TensorProperties, which pickles as a tuple of five fields, and of six since PyTorch 2.15. */
function dtypeOf(properties: PickleValue | undefined, key: string): string {
  const state = properties instanceof PickleObject ? properties.state : undefined;
  const dtype = Array.isArray(state) ? state[0] : state instanceof PickleDict ? state.get('dtype') : undefined;
  if (!(dtype instanceof PickleGlobal) || dtype.module !== 'torch')
    throw new UnreadableSave(`Tensor ${key} has no dtype`);
  return usualDtype(dtype.name);
}

function eachEntry(
  dict: PickleValue | undefined,
  name: string,
  visit: (key: PickleValue, value: PickleValue) => void,
): void {
  if (!(dict instanceof PickleDict)) throw new UnreadableSave(`Its ${name} is no dict`);
  for (let at = 0; at + 1 < dict.entries.length; at += 2) visit(dict.entries[at] ?? null, dict.entries[at + 1] ?? null);
}

function isA(value: PickleValue, name: string): boolean {
  return value instanceof PickleObject && value.path === `${METADATA}.${name}`;
}

function stateOf(value: PickleValue, path: string): PickleDict {
  if (value instanceof PickleObject && value.path === path && value.state instanceof PickleDict) return value.state;
  throw somethingElse(value, path);
}

/** A class of PyTorch or Megatron may have taken the place of the one that is known; nothing else belongs here. */
function somethingElse(value: PickleValue, path: string): UnreadableSave {
  const reason = `It holds something else where ${path} belongs`;
  const found = value instanceof PickleObject ? (value.path ?? '') : '';
  return /^(?:torch|megatron)\./.test(found) ? new UnknownForm(`${reason}: ${found}`) : new UnreadableSave(reason);
}

/** The row that the state of an object was kept as. */
function rowOf(value: PickleValue, path: string): number {
  if (value instanceof PickleObject && value.path === path && typeof value.state === 'number') return value.state;
  throw somethingElse(value, path);
}
