/** Folds of cross-validation: rows that are left out of a fit together. */
import { plainName } from '../rows/known-model.ts';
import { sourceOfId, type MeasuredRow } from '../rows/index.ts';

/**
 * What is left out of a fit together. `rows`: single rows, whose siblings stay, so that errors look smaller than they are. `groups`: all rows of
 * one source, model and GPU. `sources`: all rows that one publication holds. `model-families`: all rows of a family of models, from every source.
 */
export const LEFT_OUT = ['rows', 'groups', 'sources', 'model-families'] as const;
/** One of {@link LEFT_OUT}. */
export type LeftOut = (typeof LEFT_OUT)[number];

type Named = Pick<MeasuredRow, 'id' | 'model' | 'gpu' | 'isMoe'>;

/** Rows with the same key are left out together; a row without one is never left out: by model family only models with experts are. */
export function keyOfRow({ id, model, gpu, isMoe }: Named, leftOut: LeftOut): string | undefined {
  switch (leftOut) {
    case 'rows':
      return id;
    case 'groups':
      return [sourceOfId(id), plainName(model), plainName(gpu)].join(' ');
    case 'sources':
      return sourceOfId(id);
    case 'model-families':
      return isMoe ? modelFamilyOf(model) : undefined;
  }
}

/** `Qwen3-30B-A3B` and `Qwen2-57B-A14B` are of the family `qwen`: the first word of a name, without its number. */
function modelFamilyOf(model: string): string {
  return /^[a-z]+/.exec(plainName(model))?.[0] ?? model;
}

/**
 * Fold, 0 to `folds - 1`, by id of every row that is left out once: the largest key first, each to the fold with the fewest rows so far.
 * The same rows give the same folds, in whatever order they come.
 *
 * @throws RangeError when there are fewer keys than folds
 */
export function foldsOf(rows: readonly Named[], folds: number, leftOut: LeftOut): ReadonlyMap<string, number> {
  const members = Map.groupBy(rows, (row) => keyOfRow(row, leftOut));
  members.delete(undefined);
  if (members.size < folds) {
    throw new RangeError(`${folds} folds need at least as many ${leftOut} to leave out, and there are ${members.size}`);
  }
  const filled = Array.from({ length: folds }, () => 0);
  const foldOf = new Map<string, number>();
  const largestFirst = [...members].sort(
    ([a = '', { length: sizeA }], [b = '', { length: sizeB }]) => sizeB - sizeA || (a < b ? -1 : 1),
  );
  for (const [, rowsOfKey] of largestFirst) {
    const fold = filled.indexOf(Math.min(...filled));
    filled[fold] = (filled[fold] ?? 0) + rowsOfKey.length;
    for (const { id } of rowsOfKey) foldOf.set(id, fold);
  }
  return foldOf;
}
