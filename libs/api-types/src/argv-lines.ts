/**
 * A command as people read it: the program in one line, then each flag with what is given to it. `quoted` writes a word as the reader needs it.
 */
export function argvLines(
  argv: readonly string[],
  quoted: (word: string) => string = (word) => word,
): readonly string[] {
  const lines: string[] = [];
  for (const word of argv) {
    const isFlag = /^-{1,2}[A-Za-z]/.test(word) && lines.length > 0;
    // `python3 -m module` is a program.
    const isOfProgram = lines.length === 1 && word === '-m';
    const last = lines.length - 1;
    if (lines.length === 0 || (isFlag && !isOfProgram)) lines.push(quoted(word));
    else lines[last] = `${lines[last] ?? ''} ${quoted(word)}`;
  }
  return lines;
}
