/** The rank that a key of the keyboard goes to; undefined for other keys. */
export function rankAfterKey(key: string, ranks: readonly number[], shown: number | undefined): number | undefined {
  const index = shown === undefined ? -1 : ranks.indexOf(shown);
  switch (key) {
    case 'ArrowRight':
    case 'ArrowDown':
      return ranks[Math.min(index + 1, ranks.length - 1)];
    case 'ArrowLeft':
    case 'ArrowUp':
      return ranks[Math.max(index - 1, 0)];
    case 'Home':
      return ranks[0];
    case 'End':
      return ranks.at(-1);
    default:
      return undefined;
  }
}
