/** A command as one line, and as the words that a program gets. No shell reads it: nothing is replaced. */

/** A backslash at the end of a line joins it with the next one. */
const WORD = /(?:[^\s'"\\]|\\(?!\r?\n)[^]|'[^']*'|"(?:[^"\\]|\\[^])*"|['"]|\\(?!\r?\n))+/g;
const PIECE = /\\([^])|'([^']*)'|"((?:[^"\\]|\\[^])*)"|([^'"\\]+|['"\\])/g;
const PLAIN = /^[^\s'"\\]+$/;

/** The words of a line. Quotes keep words together, and a backslash keeps the character after it. An open quote is a character. */
export function wordsOf(line: string): readonly string[] {
  return (line.match(WORD) ?? []).map((word) =>
    [...word.matchAll(PIECE)]
      .map(([, kept, single, double, plain]) => kept ?? single ?? double?.replaceAll(/\\(["\\])/g, '$1') ?? plain ?? '')
      .join(''),
  );
}

/** The line that has these words. */
export function lineOf(words: readonly string[]): string {
  return words.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)).join(' ');
}
