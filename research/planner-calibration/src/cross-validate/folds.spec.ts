import fc from 'fast-check';
import { sourceOfId } from '../rows/index.ts';
import { foldsOf, keyOfRow, type LeftOut } from './folds.ts';

const row = (id: string, model = 'GPT', gpu = 'A100', isMoe = false): Parameters<typeof keyOfRow>[0] => {
  return { id, model, gpu, isMoe };
};
const rowsOf = (sizes: Readonly<Record<string, number>>): readonly ReturnType<typeof row>[] =>
  Object.entries(sizes).flatMap(([source, size]) => Array.from({ length: size }, (_, at) => row(`${source}-${at}`)));

describe('the source of a row', () => {
  it.each([
    ['bridge-perf-0012', 'bridge-perf'],
    ['vtrain-0001', 'vtrain'],
    ['vtrain1-0001', 'vtrain'],
    ['sc21-0009', 'sc21'],
    ['nothing', 'nothing'],
  ])('%s is %s', (id, source) => {
    expect(sourceOfId(id)).toBe(source);
  });
});

describe('what is left out together', () => {
  const mixtral = row('one-1', 'Mixtral-8x7B', 'H100', true);

  it.each<[string, LeftOut, ReturnType<typeof row>, boolean]>([
    ['rows: nothing but itself', 'rows', { ...mixtral, id: 'one-2' }, false],
    ['groups: the same source, model and GPU', 'groups', { ...mixtral, id: 'one-2' }, true],
    ['groups: however the model is spelled', 'groups', { ...mixtral, id: 'one-2', model: 'mixtral 8x7b' }, true],
    ['groups: not another GPU', 'groups', { ...mixtral, id: 'one-2', gpu: 'H200' }, false],
    ['groups: not another source', 'groups', { ...mixtral, id: 'two-1' }, false],
    ['sources: another model of the source', 'sources', { ...mixtral, id: 'one-2', model: 'GPT' }, true],
    [
      'model families: a relative of another source',
      'model-families',
      row('two-1', 'Mixtral-8x22B', 'B200', true),
      true,
    ],
    ['model families: no other family', 'model-families', row('one-2', 'Qwen3-30B-A3B', 'H100', true), false],
  ])('with one row by %s', (_sentence, leftOut, other, together) => {
    expect(keyOfRow(other, leftOut) === keyOfRow(mixtral, leftOut)).toBe(together);
  });

  it('by model families is no dense model', () => {
    expect(keyOfRow(row('one-1', 'Llama-3-8B'), 'model-families')).toBeUndefined();
  });
});

describe('folds', () => {
  it('take the largest source first, each to the emptiest fold', () => {
    const folds = foldsOf(rowsOf({ a: 3, big: 9, b: 4, c: 5 }), 2, 'sources');
    expect(['big-0', 'c-0', 'b-0', 'a-0'].map((id) => folds.get(id))).toEqual([0, 1, 1, 0]);
  });

  it('keep parts of one source together', () => {
    const folds = foldsOf([row('vtrain-1'), row('vtrain1-1'), row('other-1')], 2, 'sources');
    expect(folds.get('vtrain-1')).toBe(folds.get('vtrain1-1'));
    expect(folds.get('vtrain-1')).not.toBe(folds.get('other-1'));
  });

  it('hold no dense model where families of models with experts are left out', () => {
    const rows = [row('one-1'), row('one-2', 'Qwen3-30B-A3B', 'H100', true), row('one-3', 'DeepSeek-V3', 'H100', true)];
    expect([...foldsOf(rows, 2, 'model-families').keys()].sort()).toEqual(['one-2', 'one-3']);
  });

  it('are refused where there are more than sources', () => {
    expect(() => foldsOf([row('a-1'), row('a-2')], 2, 'sources')).toThrow('2 folds need at least as many sources');
  });

  it('leave out every row once, no fold is empty, whatever the order of rows', () => {
    const source = fc.stringMatching(/^[a-z]{3,6}$/);
    fc.assert(
      fc.property(
        fc.dictionary(source, fc.integer({ min: 1, max: 30 }), { minKeys: 5 }),
        fc.constantFrom<LeftOut>('rows', 'sources'),
        (sizes, leftOut) => {
          const rows = rowsOf(sizes);
          const folds = foldsOf(rows, 5, leftOut);
          expect([...folds.keys()].sort()).toEqual(rows.map(({ id }) => id).sort());
          expect(new Set(folds.values()).size).toBe(5);
          expect(foldsOf([...rows].reverse(), 5, leftOut)).toEqual(folds);
        },
      ),
    );
  });
});
