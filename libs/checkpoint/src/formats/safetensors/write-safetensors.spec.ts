import fc from 'fast-check';
import { headerBytes, readSafetensors } from './read-safetensors.ts';
import {
  bytesOfTensor,
  divideIntoFiles,
  safetensorsFile,
  type WholeTensor,
  weightsFileName,
  writeSafetensorsIndex,
} from './write-safetensors.ts';

const tensors = fc.uniqueArray(
  fc.record({
    key: fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' }).filter((key) => key !== '__metadata__'),
    dtype: fc.constantFrom('float32', 'bfloat16', 'int64', 'bool', 'float8_e4m3fn'),
    shape: fc.array(fc.nat({ max: 5 }), { maxLength: 3 }),
  }),
  { selector: ({ key }) => key, maxLength: 9 },
);

describe('a written file of safetensors', () => {
  it('is read as it was meant: each tensor with its dtype and shape, aligned, without holes', () => {
    fc.assert(
      fc.property(tensors, (wanted) => {
        const { head, bytes } = safetensorsFile(wanted);
        const length = headerBytes(head, bytes);
        expect([head.length % 8, length]).toEqual([0, head.length - 8]);
        const found = readSafetensors(head.subarray(8), bytes);
        for (const { offset, length: size, dtype } of found)
          if (size > 0) expect(offset % (bytesOfTensor({ key: '', dtype, shape: [] }) || 1)).toBe(0);
        const byKey = (list: readonly WholeTensor[]): unknown =>
          Object.fromEntries(list.map(({ key, dtype, shape }) => [key, { dtype, shape }]));
        expect(byKey(found)).toEqual(byKey(wanted));
      }),
    );
  });

  it('has its own file if it is larger than one; tensors stay in their order', () => {
    const of = (key: string, rows: number): WholeTensor => ({ key, dtype: 'uint8', shape: [rows] });
    const files = divideIntoFiles([of('a', 3), of('b', 3), of('c', 9), of('d', 0), of('e', 6)], 6);
    expect(files.map((file) => file.map(({ key }) => key).join(''))).toEqual(['ab', 'c', 'de']);
    expect(divideIntoFiles([], 6)).toEqual([[]]);
  });

  it('is named in the index as Transformers names it', () => {
    const file = weightsFileName(0, 2);
    const index = writeSafetensorsIndex([[file, [{ key: 'w', dtype: 'bfloat16', shape: [2, 3] }]]], 'id');
    expect(JSON.parse(new TextDecoder().decode(index))).toEqual({
      metadata: { total_size: 12, coxswain_conversion: 'id' },
      weight_map: { w: 'model-00001-of-00002.safetensors' },
    });
  });
});
