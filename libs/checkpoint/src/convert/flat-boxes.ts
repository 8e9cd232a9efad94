import type { Box } from '../read/saved-state.ts';
import { volumeOf } from '../read/saved-state.ts';

/**
 * The boxes that elements `from` to before `to` of a tensor are, the last dim moving fastest, in that order: at most two for each dim but one. In every chunk of
 * the tensor the elements of such a box follow each other.
 */
export function flatBoxes(shape: readonly number[], from: number, to: number): readonly Box[] {
  if (to <= from) return [];
  const [size] = shape;
  if (size === undefined) return [{ offsets: [], sizes: [] }];
  const inner = shape.slice(1);
  const row = volumeOf(inner);
  const [first, last] = [Math.floor(from / row), Math.floor((to - 1) / row)];
  if (first === last && (from > first * row || to < (last + 1) * row))
    return flatBoxes(inner, from - first * row, to - first * row).map((box) => within(first, box));
  const wholeFrom = from === first * row ? first : first + 1;
  const wholeTo = to === (last + 1) * row ? last + 1 : last;
  return [
    ...(wholeFrom === first ? [] : flatBoxes(inner, from - first * row, row).map((box) => within(first, box))),
    ...(wholeTo > wholeFrom
      ? [{ offsets: [wholeFrom, ...inner.map(() => 0)], sizes: [wholeTo - wholeFrom, ...inner] }]
      : []),
    ...(wholeTo === last + 1 ? [] : flatBoxes(inner, 0, to - last * row).map((box) => within(last, box))),
  ];
}

function within(index: number, { offsets, sizes }: Box): Box {
  return { offsets: [index, ...offsets], sizes: [1, ...sizes] };
}
