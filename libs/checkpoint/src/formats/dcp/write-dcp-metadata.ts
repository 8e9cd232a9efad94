/** Writes `.metadata` of PyTorch Distributed Checkpoint. */
import type { SavedObject, SavedTensor, StoredItem } from '../../read/saved-state.ts';
import { writePickle, type WrittenGlobal, type WrittenValue } from '../pickle/write-pickle.ts';
import { METADATA } from './dcp-records.ts';

/** Keys that a name was made of, from the outside in: `['optim', 'state', 'w', 'step']` of `optim.state.w.step`. */
export type KeyPath = readonly (string | number)[];

/** What metadata lists. Each chunk and object has an item. */
export interface WrittenSave {
  readonly tensors: Iterable<SavedTensor>;
  readonly objects: Iterable<SavedObject>;
  /** How DCP puts names back into nested dicts and lists; undefined: its writer did not say. */
  readonly paths: ReadonlyMap<string, KeyPath> | undefined;
  /** Identifies this save. */
  readonly saveId?: string;
}

const metadata = (name: string): WrittenGlobal => ({ module: METADATA, name });
const SIZE = { module: 'torch', name: 'Size' };
const STORAGE_INFO = { module: 'torch.distributed.checkpoint.filesystem', name: '_StorageInfo' };

/** The bytes of `.metadata`, which PyTorch reads since 2.3. */
export function writeDcpMetadata({ tensors, objects, paths, saveId }: WrittenSave): Uint8Array {
  const all = { tensors: [...tensors], objects: [...objects] };
  return writePickle({
    made: metadata('Metadata'),
    state: dict({
      state_dict_metadata: { dict: statesOf(all) },
      planner_data: paths === undefined ? null : { dict: pathsOf(paths) },
      storage_data: { dict: itemsOf(all) },
      storage_meta: saveId === undefined ? null : storageMeta(saveId),
      version: '1.0.0',
    }),
  });
}

function storageMeta(saveId: string): WrittenValue {
  return object(metadata('StorageMeta'), {
    checkpoint_id: null,
    save_id: saveId,
    load_id: null,
    modules: { list: [] },
  });
}

interface Listed {
  readonly tensors: readonly SavedTensor[];
  readonly objects: readonly SavedObject[];
}

type Entries = Generator<readonly [WrittenValue, WrittenValue]>;

function* statesOf({ tensors, objects }: Listed): Entries {
  for (const { key, dtype, shape, chunks } of tensors) {
    yield [
      key,
      object(metadata('TensorStorageMetadata'), {
        properties: { made: metadata('TensorProperties'), state: { tuple: propertiesOf(dtype) } },
        size: sizes(shape),
        chunks: {
          list: chunks.map((chunk) =>
            object(metadata('ChunkStorageMetadata'), { offsets: sizes(chunk.offsets), sizes: sizes(chunk.sizes) }),
          ),
        },
      }),
    ];
  }
  for (const { key } of objects) yield [key, object(metadata('BytesStorageMetadata'), {})];
}

function* itemsOf({ tensors, objects }: Listed): Entries {
  for (const { key, chunks } of tensors) {
    for (const [index, { offsets, item }] of chunks.entries()) {
      if (item !== undefined)
        yield [object(metadata('MetadataIndex'), { fqn: key, offset: sizes(offsets), index }), placeOf(item)];
    }
  }
  for (const { key, item } of objects) {
    if (item !== undefined) yield [object(metadata('MetadataIndex'), { fqn: key, index: null }), placeOf(item)];
  }
}

function* pathsOf(paths: ReadonlyMap<string, KeyPath>): Entries {
  for (const [key, path] of paths) yield [key, { tuple: path }];
}

/** The five fields that all releases read; those but the dtype are out of use. */
function propertiesOf(dtype: string): readonly WrittenValue[] {
  return [
    { module: 'torch', name: dtype },
    { call: { module: 'torch.serialization', name: '_get_layout' }, args: ['torch.strided'] },
    false,
    { call: metadata('_MEM_FORMAT_ENCODING'), args: [0] },
    false,
  ];
}

function placeOf({ file, offset, length }: StoredItem): WrittenValue {
  return object(STORAGE_INFO, { relative_path: file, offset, length });
}

function sizes(numbers: readonly number[]): WrittenValue {
  return { call: SIZE, args: [{ tuple: numbers }] };
}

function object(made: WrittenGlobal, fields: Readonly<Record<string, WrittenValue>>): WrittenValue {
  return { made, state: dict(fields) };
}

function dict(fields: Readonly<Record<string, WrittenValue>>): WrittenValue {
  return { dict: Object.entries(fields) };
}
