/** Which rows are predicted together by constants that never saw them, or their source? */
import { sourceOfId } from '../rows/index.ts';

/**
 * Fold of every source, 0 to `folds - 1`: the largest source first, each to the fold with the fewest rows so far. The same ids give the
 * same folds, in whatever order they come.
 *
 * @throws RangeError when there are fewer sources than folds
 */
export function foldsBySource(ids: readonly string[], folds: number): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const id of ids) sizes.set(sourceOfId(id), (sizes.get(sourceOfId(id)) ?? 0) + 1);
  if (sizes.size < folds) {
    throw new RangeError(`${folds} folds need rows of at least as many sources, and there are ${sizes.size}`);
  }
  const filled = Array.from({ length: folds }, () => 0);
  const foldOf = new Map<string, number>();
  const largestFirst = [...sizes].sort(([a, sizeA], [b, sizeB]) => sizeB - sizeA || (a < b ? -1 : 1));
  for (const [source, size] of largestFirst) {
    const fold = filled.indexOf(Math.min(...filled));
    filled[fold] = (filled[fold] ?? 0) + size;
    foldOf.set(source, fold);
  }
  return foldOf;
}

/** Fold of every row: ids in their order are dealt to the folds in turn, so that each fold has rows of every larger source. */
export function foldsByRow(ids: readonly string[], folds: number): ReadonlyMap<string, number> {
  return new Map([...ids].sort().map((id, index) => [id, index % folds]));
}
