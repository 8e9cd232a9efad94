/** Letters with which a beginning is one. */
const LETTERS_OF_A_BEGINNING = 3;

/**
 * The shortest word that `wanted` becomes by letters that were left out, else the one that takes the fewest edits to become it; undefined where none comes
 * close (a third of its letters). Others send texts of any length: one that no word can be near is compared with none.
 */
export function nearestWord(words: readonly string[], wanted: string): string | undefined {
  const meant = wanted.toLowerCase();
  const cut = words.filter((word) => isCutFrom(word.toLowerCase(), meant));
  if (cut.length > 0) return cut.reduce((best, word) => (word.length < best.length ? word : best));
  const most = Math.max(1, meant.length / 3);
  const [best] = words
    .filter((word) => Math.abs(word.length - meant.length) <= most)
    .map((word) => ({ word, edits: editsBetween(word.toLowerCase(), meant) }))
    .sort((one, other) => one.edits - other.edits);
  return best !== undefined && best.edits <= most ? best.word : undefined;
}

/** Whether it is the beginning of the word, or half of its letters in their order. */
function isCutFrom(word: string, cut: string): boolean {
  if (cut.length < LETTERS_OF_A_BEGINNING || cut.length > word.length) return false;
  if (word.startsWith(cut)) return true;
  if (cut.length < word.length / 2) return false;
  let found = 0;
  for (const letter of word) if (letter === cut[found]) found++;
  return found === cut.length;
}

/** Levenshtein distance: insertions, deletions and replacements. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
