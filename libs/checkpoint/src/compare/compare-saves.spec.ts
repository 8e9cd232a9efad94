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
  compareSaves({ format: 'dcp', state: SAVE }, { format: 'dcp', state: other });
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

it.each([
  ['equal', [1, 2, 3, 4], []],
  ['different', [1, 2, 3, 5], ['w']],
])('names tensors whose stored bytes differ: %s', (_what, bytes, want) => {
  const sums = (content: number[]) => new MemorySave({ a: Uint8Array.from(content) }).run(storedChecksums(SAVE, crc32));
  const save = { format: 'dcp', state: SAVE };
  const found = compareSaves({ ...save, checksums: sums([1, 2, 3, 4]) }, { ...save, checksums: sums(bytes) });
  expect([found.isSame, found.otherBytes?.first]).toEqual([want.length === 0, want]);
});
