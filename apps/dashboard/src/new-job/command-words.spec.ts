import fc from 'fast-check';
import { lineOf, wordsOf } from './command-words.ts';

describe('the words of a command', () => {
  it.each<[string, string, readonly string[]]>([
    ['are split at spaces', ' python3  train.py\t--lr 1e-4 ', ['python3', 'train.py', '--lr', '1e-4']],
    ['are none of an empty line', '  ', []],
    ['are kept together by quotes', `a 'b c' "d e"f`, ['a', 'b c', 'd ef']],
    ['may be empty', `a '' ""`, ['a', '', '']],
    ['keep a character after a backslash', String.raw`a\ b \"`, ['a b', '"']],
    ['continue after a backslash at the end of a line', 'a \\\n  b', ['a', 'b']],
    ['have no variables', 'echo $HOME *.py', ['echo', '$HOME', '*.py']],
    ['take an open quote as a character', `it's`, [`it's`]],
  ])('%s', (_sentence, line, words) => {
    expect(wordsOf(line)).toEqual(words);
  });

  it('are the same after they were written as a line', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (words) => {
        expect(wordsOf(lineOf(words))).toEqual(words);
      }),
    );
  });
});
