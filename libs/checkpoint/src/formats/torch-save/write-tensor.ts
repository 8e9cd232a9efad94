/** Writes a tensor as `torch.save` does, so that `torch.load` reads it. */
import { bytesOfDtype } from '../../read/dtypes.ts';
import type { Crc32 } from '../../read/save-files.ts';
import { volumeOf } from '../../read/saved-state.ts';
import { writePickle, type WrittenGlobal, type WrittenValue } from '../pickle/write-pickle.ts';
import { type ArchiveFrame, archiveFrame, type SmallRecord } from '../zip/write-archive.ts';
import { STORAGE_DTYPES } from '../torch-save-tensor.ts';

const UTF8 = new TextEncoder();
const CLASS_OF_DTYPE = new Map(Object.entries(STORAGE_DTYPES).map(([name, dtype]) => [dtype, name]));

/** What `torch.save` writes around the elements of a tensor, the last dim moving fastest. */
export function torchSaveFrame(dtype: string, shape: readonly number[], crc32: Crc32): ArchiveFrame {
  const record = (name: string, content: Uint8Array | string): SmallRecord => {
    const bytes = typeof content === 'string' ? UTF8.encode(content) : content;
    return { name, bytes, crc32: crc32(bytes, 0) };
  };
  return archiveFrame({
    folder: 'archive',
    before: [record('data.pkl', writePickle(tensorValue(dtype, shape), 2)), record('byteorder', 'little')],
    large: { name: 'data/0', bytes: volumeOf(shape) * (bytesOfDtype(dtype) ?? 0) },
    after: [record('version', '3\n')],
  });
}

function tensorValue(dtype: string, shape: readonly number[]): WrittenValue {
  const storageClass = CLASS_OF_DTYPE.get(dtype);
  const elements = volumeOf(shape);
  const stride = shape.map((_, dim) => volumeOf(shape.slice(dim + 1).map((size) => Math.max(1, size))));
  const place = [0, { tuple: [...shape] }, { tuple: stride }, false, ORDERED_DICT] as const;
  return storageClass === undefined
    ? {
        // Dtypes without a class of storage are bytes, and the tensor names its dtype.
        call: rebuild('v3'),
        args: [
          storage({ module: 'torch.storage', name: 'UntypedStorage' }, elements * (bytesOfDtype(dtype) ?? 0)),
          ...place,
          { module: 'torch', name: dtype },
        ],
      }
    : { call: rebuild('v2'), args: [storage({ module: 'torch', name: storageClass }, elements), ...place] };
}

const ORDERED_DICT = { call: { module: 'collections', name: 'OrderedDict' }, args: [] } as const;

function rebuild(version: 'v2' | 'v3'): WrittenGlobal {
  return { module: 'torch._utils', name: `_rebuild_tensor_${version}` };
}

function storage(kind: WrittenGlobal, size: number): WrittenValue {
  return { persistent: { tuple: ['storage', kind, '0', 'cpu', size] } };
}
