import { quotedWord, shellCommands } from './shell-words.ts';

const read = (script: string): string | undefined =>
  shellCommands(script)
    ?.map(
      ({ words, joinedBy }) =>
        `${joinedBy}${words.map(({ text, isLiteral }) => `[${isLiteral ? '' : '?'}${text}]`).join('')}`,
    )
    .join(' ');

describe('commands of a script', () => {
  it.each([
    ['words', 'a  b\tc', '[a][b][c]'],
    ['single quotes hold everything', `'a b' 'c$d'`, '[a b][c$d]'],
    ['double quotes hold blanks', '"a b"', '[a b]'],
    ['quotes in the middle of a word', `--x="a b"'c'`, '[--x=a bc]'],
    ['an escaped blank', String.raw`a\ b`, '[a b]'],
    ['a variable is the shell’s to replace', 'a $B "${C}" $(d e)', '[a][?$B][?${C}][?$(d e)]'],
    ['an escaped dollar is none', String.raw`"\$A"`, '[$A]'],
    ['a pattern is replaced too', 'cat *.txt', '[cat][?*.txt]'],
    ['a redirection', 'a > b 2>&1', '[a][?>][b][?2>&1]'],
    ['commands in a row', 'a && b; c\nd | e || f & g', '[a] &&[b] ;[c] \n[d] |[e] ||[f] &[g]'],
    ['a line that goes on', 'a \\\n  b', '[a][b]'],
    ['comments and empty lines', '# first\n\na # rest\n', '[a]'],
    ['nothing', '', ''],
    ['an open quote', `a 'b`, undefined],
    ['a subshell', '(a; b)', undefined],
    ['a loop', 'for x in a b; do echo $x; done', undefined],
    ['a here-document', 'cat <<EOF\nx\nEOF', undefined],
    ['backquotes', 'a `b`', undefined],
    ['an operator in front', '&& a', undefined],
  ])('%s: %j', (_what, script, want) => {
    expect(read(script)).toBe(want);
  });

  it.each([
    ['train.py', 'train.py'],
    ['a b', `'a b'`],
    [`it's`, String.raw`'it'\''s'`],
    ['', `''`],
  ])('%j is written as %s, and read as it was', (text, want) => {
    expect(quotedWord(text)).toBe(want);
    expect(shellCommands(quotedWord(text))?.[0]?.words[0]?.text).toBe(text);
  });
});
