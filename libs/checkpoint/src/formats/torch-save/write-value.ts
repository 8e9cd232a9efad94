/** Writes a value without tensors as `torch.save` does, so that `torch.load` reads it. */
import type { Crc32 } from '../../read/save-files.ts';
import { writePickle, type WrittenValue } from '../pickle/write-pickle.ts';
import { archiveFrame, type SmallRecord } from '../zip/write-archive.ts';

/** The bytes of the file. */
export function torchSaveValue(value: WrittenValue, crc32: Crc32): Uint8Array {
  return torchSavePickle(writePickle(value, 2), crc32);
}

/** The bytes of the file that has this pickle, of a value without tensors. */
export function torchSavePickle(pickle: Uint8Array, crc32: Crc32): Uint8Array {
  const record = (name: string, content: string): SmallRecord => {
    const bytes = new TextEncoder().encode(content);
    return { name, bytes, crc32: crc32(bytes, 0) };
  };
  const { head, tail } = archiveFrame({
    folder: 'archive',
    before: [],
    large: { name: 'data.pkl', bytes: pickle.length },
    after: [record('byteorder', 'little'), record('version', '3\n')],
  });
  return Uint8Array.from([...head, ...pickle, ...tail(crc32(pickle, 0))]);
}
