import { argvLines } from './argv-lines.ts';

describe('a command in lines', () => {
  it.each<[string, string, readonly string[]]>([
    ['a flag with its values in each', 'python3 train.py --x 1 2 --y', ['python3 train.py', '--x 1 2', '--y']],
    ['a module is the program', 'python3 -m a.b --x=1 -v', ['python3 -m a.b', '--x=1', '-v']],
    ['a negative number is a value', 'p --lr -1 --z -0.5', ['p', '--lr -1', '--z -0.5']],
    ['a program alone', 'p', ['p']],
    ['a flag alone is where it begins', '--x 1', ['--x 1']],
  ])('%s: %s', (_what, text, lines) => {
    expect(argvLines(text.split(' '))).toEqual(lines);
  });

  it('of nothing is nothing, and words are written as they are needed', () => {
    expect(argvLines([])).toEqual([]);
    expect(argvLines(['a', '--b', 'c'], (word) => `<${word}>`)).toEqual(['<a>', '<--b> <c>']);
  });
});
