import { aTensorGroup } from './testing/a-tensor-group.ts';
import type { TensorGroup } from '@coxswain/api-types';
import { chunkLengths, describeChunk, formatDivision, sliceOf } from './tensor-groups.ts';

describe('the lengths of the chunks of a dimension', () => {
  it.each<[sentence: string, size: number, parts: number, want: readonly number[]]>([
    ['are the size without a division', 10, 1, [10]],
    ['are equal if they can be', 12, 4, [3, 3, 3, 3]],
    ['have a shorter one last, as PyTorch divides', 10, 4, [3, 3, 3, 1]],
    ['are never zero, because each chunk exists', 5, 4, [1, 1, 1, 2]],
    ['are nothing of nothing', 0, 2, [0, 0]],
  ])('%s', (_sentence, size, parts, want) => {
    expect(chunkLengths(size, parts)).toEqual(want);
  });
});

describe('a chunk', () => {
  it.each<[sentence: string, group: Partial<TensorGroup>, chunk: number, want: string]>([
    ['of rows is a slice of the first dimension', { shape: [8, 4], grid: [4, 1] }, 1, '[2:4, 0:4]'],
    ['of columns is a slice of the last dimension', { shape: [8, 4], grid: [1, 2] }, 1, '[0:8, 2:4]'],
    ['counts along the last dimension first', { shape: [8, 4], grid: [2, 2] }, 2, '[4:8, 0:2]'],
    ['of experts is a slice of the outermost dimension', { shape: [4, 6, 2], grid: [2, 3, 1] }, 4, '[2:4, 2:4, 0:2]'],
    ['that is shorter ends with the tensor', { shape: [10], grid: [4] }, 3, '[9:10]'],
    ['of a single number is no slice', { shape: [], grid: [] }, 0, '[]'],
  ])('%s', (_sentence, changes, chunk, want) => {
    expect(sliceOf(aTensorGroup(changes), chunk)).toBe(want);
  });
});

describe('a group in a sentence', () => {
  it.each<[sentence: string, group: Partial<TensorGroup>, chunk: number | undefined, want: string]>([
    [
      'says what a chunk holds',
      {},
      1,
      'w.{0..3}: chunk 2 of 2 holds [4:8, 0:4] of each tensor; 4 tensors of 8 × 4 in bfloat16.',
    ],
    [
      'of one tensor says so',
      { tensors: 1 },
      0,
      'w.{0..3}: chunk 1 of 2 holds [0:4, 0:4] of the tensor; 1 tensor of 8 × 4 in bfloat16.',
    ],
    ['that is not divided says so', { grid: [1, 1] }, 0, 'w.{0..3}: 4 tensors of 8 × 4 in bfloat16, each saved whole.'],
    [
      'of too many chunks has their number',
      { shape: [9000], grid: [9000] },
      undefined,
      'w.{0..3}: 4 tensors of 9000 in bfloat16, each saved as 9,000 chunks.',
    ],
    [
      'of single numbers says so',
      { shape: [], grid: [] },
      0,
      'w.{0..3}: 4 tensors of one number in bfloat16, each saved whole.',
    ],
  ])('%s', (_sentence, changes, chunk, want) => {
    expect(describeChunk(aTensorGroup(changes), chunk)).toBe(want);
  });

  it.each<[grid: number[], want: string]>([
    [[1, 1], 'whole'],
    [[4, 1], '4 chunks'],
    [[2, 4], '8 chunks (2 × 4)'],
  ])('is divided %j: %s', (grid, want) => {
    expect(formatDivision({ grid })).toBe(want);
  });
});
