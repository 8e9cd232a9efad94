import { UnreadableSave } from '../../read/unreadable-save.ts';
import { PickleDict, PickleGlobal, PickleObject } from '../pickle/pickle-value.ts';
import { countOf, entriesOf, shapeOf, valueAt, visitsOf } from './pickled-state.ts';

function dictOf(...entries: PickleDict['entries']): PickleDict {
  const dict = new PickleDict();
  dict.entries = entries;
  return dict;
}

describe('what torch.save stored', () => {
  const ordered = new PickleObject(new PickleGlobal('collections', 'OrderedDict'), []);
  ordered.items = dictOf('weight', 3, 0, 4);
  const state = dictOf('module', ordered);

  it('is found below keys, also of an OrderedDict', () => {
    expect([valueAt(state, 'module', 'weight'), valueAt(state, 'optimizer', 'weight')]).toEqual([3, undefined]);
  });

  it('has entries with keys of text and numbers', () => {
    expect(entriesOf(ordered, visitsOf(0))).toEqual([
      ['weight', 3],
      ['0', 4],
    ]);
    expect(entriesOf(7, visitsOf(0))).toEqual([]);
  });

  it('is refused if one dict is used more often than the size of its file explains', () => {
    const visits = visitsOf(800);
    const readAgain = (): void => {
      for (let count = 0; count < 1000; count++) entriesOf(ordered, visits);
    };
    expect(readAgain).toThrow(UnreadableSave);
  });

  it('has counts and shapes, and nothing else passes for one', () => {
    expect([countOf(3), countOf(-1), countOf(1.5), countOf('3')]).toEqual([3, undefined, undefined, undefined]);
    const long = Array.from({ length: 65 }, () => 1);
    expect([shapeOf([3, 5]), shapeOf([]), shapeOf([-1]), shapeOf(long)]).toEqual([[3, 5], [], undefined, undefined]);
  });
});
