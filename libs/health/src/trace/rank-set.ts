import { MAX_WORLD_SIZE } from '@coxswain/layout';

/**
 * The ranks below `world` of a process group's text, such as `0-7` or `0-56/8`, in that order. A backward range has no ranks. At most as many as the largest
 * world has, because ranges may overlap.
 */
export function ranksOfSet(text: string, world = Infinity): readonly number[] {
  const ranks: number[] = [];
  for (const part of text.split(',')) {
    const [range = '', stride = '1'] = part.split('/');
    const [first = 0, last = first] = range.split('-').map(Number);
    const end = Math.min(last, world - 1);
    for (let rank = first; rank <= end && ranks.length < MAX_WORLD_SIZE; rank += Math.max(1, Number(stride))) {
      ranks.push(rank);
    }
  }
  return ranks;
}
