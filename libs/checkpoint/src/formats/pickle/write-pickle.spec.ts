import { PickleDict, PickleGlobal, PickleObject, PicklePersistent, type PickleValue } from './pickle-value.ts';
import { readPickle } from './read-pickle.ts';
import { writePickle, type WrittenValue } from './write-pickle.ts';

/** What the reader made of it, as plain data. */
function plain(value: PickleValue | undefined): unknown {
  if (value instanceof PickleDict) return { dict: value.entries.map(plain) };
  if (value instanceof PickleGlobal) return value.path;
  if (value instanceof PicklePersistent) return { persistent: plain(value.id) };
  if (value instanceof PickleObject) return { made: value.path, args: plain(value.args), state: plain(value.state) };
  return Array.isArray(value) ? value.map(plain) : value;
}

const SIZE = { module: 'torch', name: 'Size' };

describe('a pickle that is written', () => {
  it.each<[string, WrittenValue, unknown]>([
    ['holds nothing', null, null],
    ['holds truths', { tuple: [true, false] }, [true, false]],
    [
      'holds small, large, negative and very large integers',
      { tuple: [0, 255, 256, -1, 2 ** 31, -(2 ** 40), 2 ** 53 - 1] },
      [0, 255, 256, -1, 2 ** 31, -(2 ** 40), 2 ** 53 - 1],
    ],
    [
      'holds texts, short and long ones, and not only ASCII',
      { list: ['', 'ö✓', 'x'.repeat(300)] },
      ['', 'ö✓', 'x'.repeat(300)],
    ],
    [
      'holds empty tuples, lists and dicts',
      { list: [{ tuple: [] }, { list: [] }, { dict: [] }] },
      [[], [], { dict: [] }],
    ],
    ['holds a class', SIZE, 'torch.Size'],
    [
      'holds a call',
      { call: SIZE, args: [{ tuple: [2, 3] }] },
      { made: 'torch.Size', args: [[2, 3]], state: undefined },
    ],
    [
      'holds an object with its state',
      { made: SIZE, state: { dict: [['a', 1]] } },
      { made: 'torch.Size', args: [], state: { dict: ['a', 1] } },
    ],
    ['refers to a storage', { persistent: { tuple: ['storage', '0'] } }, { persistent: ['storage', '0'] }],
    [
      'refers to what it wrote before',
      { tuple: [SIZE, 'a', SIZE, 'a', ...Array.from({ length: 300 }, (_, at) => `t${String(at)}`), 't299', 't7'] },
      ['torch.Size', 'a', 'torch.Size', 'a', ...Array.from({ length: 300 }, (_, at) => `t${String(at)}`), 't299', 't7'],
    ],
  ])('%s', (_what, value, want) => {
    expect(plain(readPickle(writePickle(value)))).toEqual(want);
    expect(plain(readPickle(writePickle(value, 2)))).toEqual(want);
  });

  it('has no numbers but integers', () => {
    expect(() => writePickle(0.5)).toThrow('0.5 is no integer that is written here');
  });
});
