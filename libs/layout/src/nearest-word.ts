/** Shortest prefix that counts as an abbreviation. */
const MIN_PREFIX_LETTERS = 3;

/**
 * The word that a user probably meant by `wanted`, for *did you mean ...?*. That is the shortest word that `wanted` abbreviates, else the word with the fewest
 * edits; undefined if each needs more edits than a third of the letters. Words of a very different length are not compared, so `wanted` may have any length.
 */
export function nearestWord(words: readonly string[], wanted: string): string | undefined {
  const meant = wanted.toLowerCase();
  const cut = words.filter((word) => isAbbreviationOf(word.toLowerCase(), meant));
  if (cut.length > 0) return cut.reduce((best, word) => (word.length < best.length ? word : best));
  const most = Math.max(1, meant.length / 3);
  const [best] = words
    .filter((word) => Math.abs(word.length - meant.length) <= most)
    .map((word) => ({ word, edits: editsBetween(word.toLowerCase(), meant) }))
    .sort((one, other) => one.edits - other.edits);
  return best !== undefined && best.edits <= most ? best.word : undefined;
}

/** Whether `cut` is a prefix of the word, or at least half of its letters in order. */
function isAbbreviationOf(word: string, cut: string): boolean {
  if (cut.length < MIN_PREFIX_LETTERS || cut.length > word.length) return false;
  if (word.startsWith(cut)) return true;
  if (cut.length < word.length / 2) return false;
  let found = 0;
  for (const letter of word) if (letter === cut[found]) found++;
  return found === cut.length;
}

/** Edit distance: insertions, deletions, replacements, and swaps of two neighbours. */
function editsBetween(one: string, other: string): number {
  let [before, row] = [[0], Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[other.length] ?? 0;
}
