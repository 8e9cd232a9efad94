import { isTruncated } from './torch-save.ts';

const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

describe('a file of PyTorch is cut off', () => {
  const head = bytes(0x50, 0x4b, 3, 4, 0, 0);
  it.each<[string, Uint8Array, Uint8Array, boolean]>([
    ['where the archive has no end', head, bytes(1, 2, 3, 4, 5, 6), true],
    ['where it is shorter than an end', head, head, true],
    ['not where its end is there', head, bytes(0x50, 0x4b, 5, 6, 0, 0), false],
    ['not as far as is known, where it is no archive', bytes(0x80, 2), bytes(1, 2, 3, 4), false],
  ])('%s', (_sentence, first, last, want) => {
    expect(isTruncated(first, last)).toBe(want);
  });
});
