import { MAX_TENSOR_GROUPS, MAX_TENSOR_GROUPS_BYTES, OTHER_TENSORS, TensorGroup } from '@coxswain/api-types';
import fc from 'fast-check';
import { kindOf } from './contents-of.ts';
import type { SavedTensor } from './read/saved-state.ts';
import { tensorGroupsOf } from './tensor-groups.ts';

function aTensor(key: string, fields: Partial<SavedTensor> = {}): SavedTensor {
  const shape = fields.shape ?? [4, 2];
  return {
    key,
    dtype: 'float32',
    shape,
    chunks: [{ offsets: shape.map(() => 0), sizes: shape, item: undefined }],
    ...fields,
  };
}

const namesOf = (...keys: readonly string[]): readonly string[] =>
  tensorGroupsOf(
    keys.map((key) => aTensor(key)),
    kindOf,
  ).map(({ name, tensors }) => `${name} ${tensors}`);

it.each<[string, readonly string[], readonly string[]]>([
  ['numbers in a row', ['l.0.w', 'l.1.w', 'l.2.w'], ['l.{0..2}.w 3']],
  ['numbers beyond nine', ['l.10.w', 'l.9.w', 'l.8.w'], ['l.{8..10}.w 3']],
  ['numbers with gaps', ['l.0.w', 'l.1.w', 'l.7.w'], ['l.{0..1,7}.w 3']],
  ['many gaps', [0, 2, 4, 6, 8, 10].map((n) => `l.${n}.w`), ['l.{0..10}.w 6']],
  ['one tensor', ['l.7.w'], ['l.7.w 1']],
  ['several numbers', ['l.0.e.0.w', 'l.0.e.1.w', 'l.1.e.0.w', 'l.1.e.1.w'], ['l.{0..1}.e.{0..1}.w 4']],
  ['a number that is part of a word', ['l.w1', 'l.w2'], ['l.w1 1', 'l.w2 1']],
  ['numbers with zeros before them', ['rank_00', 'rank_01'], ['rank_{00..01} 2']],
  ['a name of numbers', ['0', '1'], ['{0..1} 2']],
  ['no name', [''], [' 1']],
])('tensors with %s', (_what, keys, want) => {
  expect(namesOf(...keys)).toEqual(want);
});

it('tensors that differ in dtype, shape, chunks or kind are in groups of their own', () => {
  const half = { sizes: [2, 2], item: undefined };
  const chunks = [
    { ...half, offsets: [0, 0] },
    { ...half, offsets: [2, 0] },
  ];
  const tensors = [
    aTensor('l.0.w'),
    aTensor('l.1.w', { dtype: 'bfloat16' }),
    aTensor('l.2.w', { shape: [4] }),
    aTensor('l.3.w', { chunks }),
    aTensor('l.4.w', { kind: 'moment' }),
  ];
  expect(tensorGroupsOf(tensors, kindOf)).toMatchObject([
    { name: 'l.0.w', grid: [1, 1] },
    { name: 'l.1.w', dtype: 'bfloat16' },
    { name: 'l.2.w', shape: [4] },
    { name: 'l.3.w', grid: [2, 1] },
    { name: 'l.4.w', kind: 'moment' },
  ]);
});

it('of too many groups those with the fewest elements are one', () => {
  const big = Array.from({ length: 60 }, (_, index) => aTensor('b'.repeat(index + 1)));
  const groups = tensorGroupsOf([...big, aTensor('tiny', { shape: [1] })], kindOf);
  expect(groups).toHaveLength(MAX_TENSOR_GROUPS);
  expect(groups.at(-1)).toMatchObject({ name: OTHER_TENSORS, tensors: 61 - (MAX_TENSOR_GROUPS - 1), dtype: 'various' });
  expect(groups.map(({ name }) => name)).not.toContain('tiny');
});

const someTensors = fc.array(
  fc
    .record({
      key: fc.oneof(
        fc.string({ maxLength: 400 }),
        fc
          .tuple(fc.constantFrom('layers', 'é', '{0..1}'), fc.nat(200), fc.nat(9))
          .map(([word, one, other]) => `${word}.${one}.e.${other}.w`),
      ),
      dtype: fc.oneof(fc.constantFrom('float32', 'bfloat16'), fc.string({ maxLength: 80 })),
      shape: fc.array(fc.oneof(fc.nat(9), fc.constantFrom(-1, 2 ** 60)), { maxLength: 20 }),
    })
    .map(({ key, ...fields }) => aTensor(key, fields)),
  { maxLength: 200 },
);

it('whatever the tensors: each is counted once, the groups are few and short, and their order does not matter', () => {
  fc.assert(
    fc.property(someTensors, (tensors) => {
      const groups = tensorGroupsOf(tensors, kindOf);
      expect(groups.reduce((sum, group) => sum + group.tensors, 0)).toBe(tensors.length);
      expect(groups.length).toBeLessThanOrEqual(MAX_TENSOR_GROUPS);
      expect(Buffer.byteLength(JSON.stringify(groups))).toBeLessThanOrEqual(MAX_TENSOR_GROUPS_BYTES);
      expect(TensorGroup.array().safeParse(groups).error).toBeUndefined();
      expect(tensorGroupsOf(tensors.toReversed(), kindOf)).toEqual(groups);
    }),
  );
});
