/** The word that takes the fewest edits to become `wanted`; undefined where none comes close (half of its letters). */
export function nearestWord(words: readonly string[], wanted: string): string | undefined {
  const [best] = words
    .map((word) => ({ word, edits: editsBetween(word.toLowerCase(), wanted.toLowerCase()) }))
    .sort((one, other) => one.edits - other.edits);
  return best !== undefined && best.edits <= Math.max(1, wanted.length / 2) ? best.word : undefined;
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
