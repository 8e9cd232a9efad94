import fc from 'fast-check';
import { sourceOfId } from '../rows/index.ts';
import { foldsByRow, foldsBySource } from './folds.ts';

const idsOf = (sizes: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(sizes).flatMap(([source, size]) => Array.from({ length: size }, (_, index) => `${source}-${index}`));

describe('folds by source', () => {
  it.each([
    ['bridge-perf-0012', 'bridge-perf'],
    ['vtrain-0001', 'vtrain'],
    ['vtrain1-0001', 'vtrain'],
    ['sc21-0009', 'sc21'],
    ['nothing', 'nothing'],
  ])('%s is of the source %s', (id, source) => {
    expect(sourceOfId(id)).toBe(source);
  });

  it('puts the largest source first, each to the emptiest fold', () => {
    const folds = foldsBySource(idsOf({ a: 3, big: 9, b: 4, c: 5 }), 2);
    expect(Object.fromEntries(folds)).toEqual({ big: 0, c: 1, b: 1, a: 0 });
  });

  it('keeps parts of one source together', () => {
    expect([...foldsBySource(['vtrain-1', 'vtrain1-1', 'other-1'], 2).keys()].sort()).toEqual(['other', 'vtrain']);
  });

  it('refuses more folds than sources', () => {
    expect(() => foldsBySource(['a-1', 'a-2'], 2)).toThrow('2 folds need rows of at least as many sources');
  });

  it('gives every source one fold, no fold is empty, whatever the order of rows', () => {
    const source = fc.stringMatching(/^[a-z]{3,6}$/);
    fc.assert(
      fc.property(fc.dictionary(source, fc.integer({ min: 1, max: 30 }), { minKeys: 5 }), (sizes) => {
        const ids = idsOf(sizes);
        const folds = foldsBySource(ids, 5);
        expect(new Set(folds.keys())).toEqual(new Set(Object.keys(sizes)));
        expect(new Set(folds.values()).size).toBe(5);
        expect(foldsBySource([...ids].reverse(), 5)).toEqual(folds);
      }),
    );
  });
});

describe('folds of rows', () => {
  it('deal every source to all folds, whatever the order of the rows', () => {
    const ids = ['one-1', 'one-2', 'two-1', 'two-2'];
    expect(Object.fromEntries(foldsByRow([...ids].reverse(), 2))).toEqual({
      'one-1': 0,
      'one-2': 1,
      'two-1': 0,
      'two-2': 1,
    });
  });
});
