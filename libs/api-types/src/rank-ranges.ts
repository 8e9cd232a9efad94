/** How are the ranks of a pod written? As ranges in order: `0-7`, or `0-3,8-11` where they do not follow each other. */

/** Ranges by commas, each a rank or the first and last of several; nothing for none. */
export const RANK_RANGES = /^(\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*)?$/;

/** `[0, 1, 2, 8]` as `0-2,8`. Takes ranks in ascending order. */
export function formatRanks(ranks: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const rank of ranks) {
    const last = ranges.at(-1);
    if (last !== undefined && rank === last[1] + 1) last[1] = rank;
    else ranges.push([rank, rank]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}

/** The ranks in such a text, in its order; none for an invalid text, and at most `most` of a range. */
export function parseRanks(text: string, most: number): readonly number[] {
  if (text === '' || !RANK_RANGES.test(text)) return [];
  return text.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: Math.max(0, Math.min(last - first + 1, most)) }, (_, index) => first + index);
  });
}

/** Whether such a text contains that rank. */
export function rankIsIn(rank: number, text: string): boolean {
  return text.split(',').some((range) => {
    const [first = Number.NaN, last = first] = range === '' ? [] : range.split('-').map(Number);
    return first <= rank && rank <= last;
  });
}
