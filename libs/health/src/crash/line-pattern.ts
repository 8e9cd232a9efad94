/** Does a line of a log match a pattern? */

/** Characters of a line that are compared: as many as launchers report. */
const MAX_LINE_CHARACTERS = 512;

/**
 * A line matches if it contains the pattern anywhere, ignoring case; `*` matches any text. Patterns are not regular expressions, because users write
 * patterns and ranks write lines: matching the first occurrence of each piece reads a line once, whatever either contains.
 */
export function lineMatches(pattern: string, line: string): boolean {
  const text = line.slice(0, MAX_LINE_CHARACTERS).toLowerCase();
  let from = 0;
  for (const piece of pattern.toLowerCase().split('*')) {
    const at = text.indexOf(piece, from);
    if (at === -1) return false;
    from = at + piece.length;
  }
  return true;
}

/** The first line that matches a pattern of the list. */
export function firstMatch(patterns: readonly string[], lines: readonly string[]): string | undefined {
  return lines.find((line) => patterns.some((pattern) => lineMatches(pattern, line)));
}
