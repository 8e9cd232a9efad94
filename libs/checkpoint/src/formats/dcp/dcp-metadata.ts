/** Reads `.metadata` of PyTorch Distributed Checkpoint, which Megatron's `torch_dist` writes too. */
import type { SavedChunk, SavedObject, SavedState, SavedTensor, StoredItem } from '../../read/saved-state.ts';
import { UnreadableSave } from '../../read/unreadable-save.ts';
import { usualDtype } from '../../read/dtypes.ts';
import { PickleDict, PickleGlobal, PickleObject, type PickleValue } from '../pickle/pickle-value.ts';
import { type PickleForms, readPickle } from '../pickle/read-pickle.ts';

const METADATA = 'torch.distributed.checkpoint.metadata';
/** Megatron-Core 0.15 writes a class of its own, which has the fields of PyTorch’s. */
const MEGATRON_METADATA = 'megatron.core.dist_checkpointing.strategies.torch.MCoreMetadata';
const STORAGE_INFO = 'torch.distributed.checkpoint.filesystem._StorageInfo';

/** PyTorch makes tensors of at most 64 dims (c10/util/SmallVector, `at::kVmapMaxTensorDims`). */
const MAX_DIMS = 64;

/** Bytes of metadata that a chunk or an item takes at least. In a pickle a value costs two bytes each time that it is used again. */
const BYTES_OF_CHUNK = 16;
/** DCP chains few of them. */
const MAX_TRANSFORMS = 16;
/** Characters of a name or path. */
const MAX_TEXT = 4096;

/** A state as one array in place of a dict whose keys repeat a million times. */
const fieldsOf =
  (...names: readonly string[]) =>
  (state: PickleValue): PickleValue =>
    state instanceof PickleDict ? names.map((name) => state.get(name) ?? null) : state;

const FORMS: PickleForms = {
  calls: { 'torch.Size': (args) => (Array.isArray(args) ? (args[0] ?? null) : null) },
  states: {
    [`${METADATA}.ChunkStorageMetadata`]: fieldsOf('offsets', 'sizes'),
    [`${METADATA}.MetadataIndex`]: fieldsOf('fqn', 'offset', 'index'),
    [STORAGE_INFO]: fieldsOf('relative_path', 'offset', 'length', 'transform_descriptors'),
  },
};

/** A tensor while items are joined to its chunks. */
interface OpenTensor {
  readonly key: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly chunks: (SavedChunk & { item: StoredItem | undefined })[];
  /** Chunks by their offsets; made for the first item whose index does not name its chunk. */
  byOffsets?: Map<string, { item: StoredItem | undefined }>;
}

/**
 * Tensors, their chunks and objects of a save.
 * @throws UnreadableSave if the bytes are no such metadata.
 */
export function readDcpMetadata(metadata: Uint8Array): SavedState {
  const value = readPickle(metadata, FORMS);
  const isMegatron = value instanceof PickleObject && value.path === MEGATRON_METADATA;
  const root = stateOf(value, isMegatron ? MEGATRON_METADATA : `${METADATA}.Metadata`);
  const tensors = new Map<string, OpenTensor>();
  let parts = Math.floor(metadata.length / BYTES_OF_CHUNK);
  const objects = new Map<string, { readonly key: string; item: StoredItem | undefined }>();
  eachEntry(root.get('state_dict_metadata'), 'state_dict_metadata', (key, value) => {
    const name = textOf(key, 'the name of a tensor');
    if (isA(value, 'BytesStorageMetadata')) objects.set(name, { key: name, item: undefined });
    else {
      const tensor = tensorOf(name, value, parts);
      parts -= tensor.chunks.length;
      tensors.set(name, tensor);
    }
  });
  eachEntry(root.get('storage_data'), 'storage_data', (index, info) => {
    if (--parts < 0) throw tooManyParts();
    const [fqn, offset, hint] = partsOf(index, `${METADATA}.MetadataIndex`);
    const name = textOf(fqn, 'the name in an index');
    const tensor = tensors.get(name);
    const owner = tensor === undefined ? objects.get(name) : chunkAt(tensor, offset, hint);
    // An item without an owner is one that no engine loads. If a tensor misses it, the tensor has a hole.
    if (owner !== undefined) owner.item = itemOf(info);
  });
  return {
    tensors: [...tensors.values()].map(closed),
    objects: [...objects.values()] satisfies SavedObject[],
  };
}

function closed({ key, dtype, shape, chunks }: OpenTensor): SavedTensor {
  return { key, dtype, shape, chunks };
}

function tooManyParts(): UnreadableSave {
  return new UnreadableSave('It holds more chunks and items than its size explains');
}

function tensorOf(key: string, value: PickleValue, maxChunks: number): OpenTensor {
  const fields = stateOf(value, `${METADATA}.TensorStorageMetadata`);
  const shape = sizesOf(fields.get('size'), key);
  const chunks = fields.get('chunks');
  if (!Array.isArray(chunks)) throw new UnreadableSave(`Tensor ${key} has no list of chunks`);
  if (chunks.length > maxChunks) throw tooManyParts();
  return {
    key,
    dtype: dtypeOf(fields.get('properties'), key),
    shape,
    chunks: chunks.map((chunk) => {
      const [offsets, sizes] = partsOf(chunk, `${METADATA}.ChunkStorageMetadata`);
      const box = { offsets: sizesOf(offsets, key), sizes: sizesOf(sizes, key) };
      if (box.offsets.length !== shape.length || box.sizes.length !== shape.length) {
        throw new UnreadableSave(`A chunk of tensor ${key} has not as many dims as the tensor`);
      }
      return { ...box, item: undefined };
    }),
  };
}

/** The first field of TensorProperties, which pickles as a tuple of five fields, and of six since PyTorch 2.15. */
function dtypeOf(properties: PickleValue | undefined, key: string): string {
  const state = properties instanceof PickleObject ? properties.state : undefined;
  const dtype = Array.isArray(state) ? state[0] : state instanceof PickleDict ? state.get('dtype') : undefined;
  if (!(dtype instanceof PickleGlobal) || dtype.module !== 'torch')
    throw new UnreadableSave(`Tensor ${key} has no dtype`);
  return usualDtype(dtype.name);
}

/** PyTorch compares name and offset; the index is a hint (MetadataIndex, `compare=False`). */
function chunkAt(
  tensor: OpenTensor,
  offset: PickleValue | undefined,
  hint: PickleValue | undefined,
): { item: StoredItem | undefined } | undefined {
  if (!Array.isArray(offset)) return undefined;
  const hinted = typeof hint === 'number' ? tensor.chunks[hint] : undefined;
  if (hinted !== undefined && isSame(hinted.offsets, offset)) return hinted;
  tensor.byOffsets ??= new Map(tensor.chunks.map((chunk) => [chunk.offsets.join(), chunk]));
  return tensor.byOffsets.get(sizesOf(offset, tensor.key).join());
}

function isSame(offsets: readonly number[], others: readonly PickleValue[]): boolean {
  return offsets.length === others.length && offsets.every((offset, dim) => offset === others[dim]);
}

function itemOf(info: PickleValue): StoredItem {
  const [file, offset, length, transforms] = partsOf(info, STORAGE_INFO);
  const item = {
    file: textOf(file, 'the path of an item'),
    offset: sizeOf(offset, 'the offset of an item'),
    length: sizeOf(length, 'the length of an item'),
  };
  if (Array.isArray(transforms) && transforms.length > MAX_TRANSFORMS)
    throw new UnreadableSave('It has an item with more transforms than DCP chains');
  return Array.isArray(transforms) && transforms.length > 0
    ? { ...item, transforms: transforms.map((transform) => textOf(transform, 'the transform of an item')) }
    : item;
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
  throw new UnreadableSave(`It holds something else where ${path} belongs`);
}

function partsOf(value: PickleValue, path: string): readonly PickleValue[] {
  if (value instanceof PickleObject && value.path === path && Array.isArray(value.state)) return value.state;
  throw new UnreadableSave(`It holds something else where ${path} belongs`);
}

function textOf(value: PickleValue | undefined, what: string): string {
  if (typeof value === 'string' && value.length <= MAX_TEXT) return value;
  throw new UnreadableSave(`It has no text for ${what}`);
}

function sizesOf(value: PickleValue | undefined, key: string): readonly number[] {
  if (!Array.isArray(value) || value.length > MAX_DIMS)
    throw new UnreadableSave(`Tensor ${key} has sizes that no tensor has`);
  for (const size of value) sizeOf(size, `the sizes of tensor ${key}`);
  return value as readonly number[];
}

function sizeOf(value: PickleValue | undefined, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new UnreadableSave(`It has no number of at least 0 for ${what}`);
}
