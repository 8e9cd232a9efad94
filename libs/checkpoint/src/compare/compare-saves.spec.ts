import { crc32 } from 'node:zlib';
import type { SavedState, SavedTensor } from '../read/saved-state.ts';
import { MemorySave } from '../testing/memory-save.ts';
import { compareSaves, MAX_LISTED, type SaveDifferences } from './compare-saves.ts';
import { storedChecksums } from './stored-checksums.ts';

const tensor = (key: string, more: Partial<SavedTensor> = {}): SavedTensor => ({
  key,
  dtype: 'float32',
  shape: [4],
  chunks: [
    { offsets: [0], sizes: [2], item: { file: 'a', offset: 0, length: 2 } },
    { offsets: [2], sizes: [2], item: { file: 'a', offset: 2, length: 2 } },
  ],
  ...more,
});
const state = (tensors: readonly SavedTensor[], facts: object = {}): SavedState => ({
  tensors,
  objects: [],
  facts: {
    holds: { optimizer: undefined, randomStates: undefined, dataLoader: undefined, scheduler: undefined },
    ...facts,
  },
});
const SAVE = state([tensor('w')], { step: 10 });
const compare = (other: SavedState): SaveDifferences =>
  compareSaves({ format: 'dcp', state: SAVE, files: [] }, { format: 'dcp', state: other, files: [] });
const empty = { count: 0, first: [] };
const listed = (...first: unknown[]): object => ({ count: first.length, first });

it.each<[what: string, other: SavedState, want: Partial<SaveDifferences>]>([
  [
    'nothing, where only the order of boxes is another',
    state([tensor('w', { chunks: tensor('w').chunks.toReversed() })], { step: 10 }),
    { isSame: true },
  ],
  ['a tensor that only one has', state([], { step: 10 }), { onlyInOne: listed('w') as never }],
  [
    'a tensor that only the other has',
    state([tensor('w'), tensor('b')], { step: 10 }),
    { onlyInOther: listed('b') as never },
  ],
  [
    'the dtype of a tensor',
    state([tensor('w', { dtype: 'bfloat16' })], { step: 10 }),
    { changed: listed({ name: 'w', one: 'float32 [4] parameter', other: 'bfloat16 [4] parameter' }) as never },
  ],
  [
    'what a tensor is for',
    state([tensor('w', { kind: 'moment' })], { step: 10 }),
    { changed: listed({ name: 'w', one: 'float32 [4] parameter', other: 'float32 [4] moment' }) as never },
  ],
  [
    'boxes alone',
    state([tensor('w', { chunks: [{ offsets: [0], sizes: [4], item: undefined }] })], { step: 10 }),
    { changed: empty, dividedDifferently: listed('w') as never },
  ],
  [
    'step and degrees',
    state([tensor('w')], { step: 20, degrees: { tensorParallelDegree: 2 } }),
    {
      facts: [
        { name: 'step', one: '10', other: '20' },
        { name: 'tensorParallelDegree', other: '2' },
      ],
    },
  ],
])('finds %s', (_what, other, want) => {
  expect(compare(other)).toMatchObject({ isSame: false, ...want });
});

it('lists the first of many differences, and counts all', () => {
  const many = Array.from({ length: 200 }, (_, index) => tensor(`w${index}`));
  const { count, first } = compare(state(many)).onlyInOther;
  expect([count, first.length]).toEqual([200, MAX_LISTED]);
});

const WHOLE = [1, 2, 3, 4, 8, 9];
const RICH: SavedState = {
  ...SAVE,
  objects: [{ key: 'scheduler', item: { file: 'a', offset: 4, length: 1 } }],
};
const NOWHERE: SavedState = {
  ...SAVE,
  tensors: [tensor('w', { chunks: [{ offsets: [0], sizes: [4], item: undefined }] })],
  objects: [{ key: 'scheduler', item: undefined }],
};
it.each<[what: string, of: SavedState, bytes: readonly number[], want: object]>([
  ['nothing, in equal saves', RICH, WHOLE, { isSame: true }],
  ['a tensor', RICH, [1, 2, 3, 5, 8, 9], { otherBytes: listed('w'), objects: { otherBytes: empty } }],
  ['an object', RICH, [1, 2, 3, 4, 7, 9], { otherBytes: empty, objects: { otherBytes: listed('scheduler') } }],
  ['a byte beside tensors', RICH, [1, 2, 3, 4, 8, 8], { otherBytes: empty, files: { otherBytes: listed('a') } }],
  ['a file of another size', RICH, [...WHOLE, 1], { files: { changed: { count: 1 }, otherBytes: empty } }],
  [
    'no equality of what is nowhere',
    NOWHERE,
    WHOLE,
    { otherBytes: empty, notCompared: { tensors: listed('w'), objects: listed('scheduler') } },
  ],
])('finds in the stored bytes %s', (_what, of, bytes, want) => {
  const save = (content: readonly number[]) => {
    const files = [{ path: 'a', bytes: content.length }];
    const checksums = new MemorySave({ a: Uint8Array.from(content) }).run(storedChecksums(of, files, crc32));
    return { format: 'dcp', state: of, files, checksums };
  };
  expect(compareSaves(save(WHOLE), save(bytes))).toMatchObject({ isSame: false, ...want });
});

it('finds objects and files that only one save has', () => {
  const found = compareSaves(
    { format: 'dcp', state: RICH, files: [{ path: 'a', bytes: 6 }] },
    { format: 'dcp', state: SAVE, files: [{ path: 'b', bytes: 6 }] },
  );
  expect(found).toMatchObject({
    isSame: false,
    objects: { onlyInOne: listed('scheduler') },
    files: { onlyInOne: listed('a'), onlyInOther: listed('b') },
  });
});
