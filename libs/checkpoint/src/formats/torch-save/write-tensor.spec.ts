import { crc32 } from 'node:zlib';
import type { Reading } from '../../read/save-files.ts';
import { volumeOf } from '../../read/saved-state.ts';
import { MemorySave } from '../../testing/memory-save.ts';
import { checkContent, openItem } from '../../verify/archives.ts';
import { placeOfPayload, readRecords, recordNamed } from '../zip/read-archive.ts';
import { torchSaveFrame } from './write-tensor.ts';

describe('a tensor that is written as torch.save does', () => {
  it.each<[string, readonly number[], number]>([
    ['float32', [3, 5], 4],
    ['bfloat16', [7], 2],
    ['int64', [], 8],
    ['bool', [2, 2, 2], 1],
    // Without a class of storage.
    ['float8_e4m3fn', [9], 1],
    ['uint16', [4], 2],
    ['float32', [0, 4], 4],
  ])('has the dtype %s and the shape %j', (dtype, shape, itemBytes) => {
    const bytes = Uint8Array.from({ length: volumeOf(shape) * itemBytes }, (_, at) => at + 1);
    const { head, tail } = torchSaveFrame(dtype, shape, crc32);
    const archive = Buffer.concat([head, bytes, tail(crc32(bytes))]);
    const item = { file: 'f', offset: 0, length: archive.length };
    const save = new MemorySave({ f: archive });
    const open = save.run(openItem({ key: 'w', item, chunk: { sizes: shape, dtype } }));
    save.run(checkContent(open, crc32));
    expect(open.tensor).toMatchObject({ dtype, shape, storageOffset: 0 });
    expect(head.length % 64).toBe(0);
  });

  it.each([2 ** 32 - 1, 2 ** 32 + 4, 5 * 2 ** 30])('can have %d bytes', (bytes) => {
    const { head, tail } = torchSaveFrame('uint8', [bytes], crc32);
    const end = tail(7);
    const item = { file: 'f', offset: 0, length: head.length + bytes + end.length };
    // The elements are never read.
    const run = <Found>(reading: Reading<Found>): Found => {
      let step = reading.next();
      while (step.done !== true) {
        const { offset, length } = step.value;
        const inEnd = offset - head.length - bytes;
        const found = inEnd >= 0 ? end.subarray(inEnd, inEnd + length) : tailOf(head, offset, length);
        step = reading.next(found);
      }
      return step.value;
    };
    const tailOf = (part: Uint8Array, offset: number, length: number): Uint8Array => {
      if (offset + length <= part.length) return part.subarray(offset, offset + length);
      // A read of the last 4 KiB begins in the elements.
      const zeros = new Uint8Array(length);
      zeros.set(end, length - end.length);
      return zeros;
    };
    const record = recordNamed(run(readRecords(item)), 'data/0');
    expect([record.bytes, record.crc32, run(placeOfPayload(item, record))]).toEqual([bytes, 7, head.length]);
  });
});
