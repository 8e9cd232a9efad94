/** Does a line of a log hold what a pattern says? */

/** Characters of a line that are looked at: as many as launchers report. */
const MAX_LINE_CHARACTERS = 512;

/**
 * A pattern is text that a line holds somewhere, letters of either case alike; `*` stands for anything between two pieces. It is no regular
 * expression, for people write patterns and ranks write lines: the first place of each piece is as good as any later one, so a line is gone
 * through once, whatever either says.
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

/** The first line that a pattern of the list matches. */
export function firstMatch(patterns: readonly string[], lines: readonly string[]): string | undefined {
  return lines.find((line) => patterns.some((pattern) => lineMatches(pattern, line)));
}
