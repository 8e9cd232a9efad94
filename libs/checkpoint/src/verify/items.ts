/** Whether the items of a save are where it says: in files that are there, within them, apart from each other. */
import type { StoredFile } from '../read/save-files.ts';
import type { SavedState, StoredItem } from '../read/saved-state.ts';
import type { Finding } from './finding.ts';

/** An item with the tensor or object that it belongs to. */
export interface OwnedItem extends StoredItem {
  readonly key: string;
}

/** Items in the order of the save. */
export function itemsOf({ tensors, objects }: SavedState): OwnedItem[] {
  const items: OwnedItem[] = [];
  for (const { key, chunks } of tensors)
    for (const { item } of chunks) if (item !== undefined) items.push({ ...item, key });
  for (const { key, item } of objects) if (item !== undefined) items.push({ ...item, key });
  return items;
}

/** One finding a file, and one a tensor or object that has no item. */
export function checkItems(state: SavedState, files: readonly StoredFile[]): readonly Finding[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const perFile = Map.groupBy(itemsOf(state), ({ file }) => file);
  return [
    ...unplaced(state),
    ...[...perFile].flatMap(([path, items]) => checkFile(path, items, byPath.get(path)) ?? []),
  ];
}

function unplaced({ tensors, objects }: SavedState): readonly Finding[] {
  const keys = [
    ...tensors.filter(({ chunks }) => chunks.some(({ item }) => item === undefined)).map(({ key }) => `Tensor ${key}`),
    ...objects.filter(({ item }) => item === undefined).map(({ key }) => `Object ${key}`),
  ];
  return keys.map((key) => ({
    level: 'V1',
    kind: 'incomplete',
    sentence: `${key} is incomplete: the save does not say where one of its parts is.`,
  }));
}

function checkFile(path: string, items: OwnedItem[], file: StoredFile | undefined): Finding | undefined {
  const sentence = describeFile(path, items, file);
  return (
    sentence && {
      level: 'V1',
      kind: sentence.isMissing ? 'incomplete' : 'damaged',
      sentence: `File ${path} ${sentence.end}.`,
    }
  );
}

function describeFile(
  path: string,
  items: OwnedItem[],
  file: StoredFile | undefined,
): { readonly isMissing: boolean; readonly end: string } | undefined {
  const damaged = (end: string) => ({ isMissing: false, end });
  if (isOutside(path)) return damaged('is outside of the save');
  if (file === undefined)
    return {
      isMissing: true,
      end: `is not there; it holds ${String(items.length)} parts of the save, such as one of ${items[0]?.key ?? ''}`,
    };
  if (file.isLink === true) return damaged('is a link, which is not followed: it can change what the save holds');
  items.sort((one, other) => one.offset - other.offset);
  const beyond = items.find(({ offset, length }) => offset + length > file.bytes);
  if (beyond !== undefined)
    return damaged(
      `has ${String(file.bytes)} bytes, and ${beyond.key} ends at ${String(beyond.offset + beyond.length)}: it is cut`,
    );
  const at = items.findIndex(({ offset, length }, index) => offset + length > (items[index + 1]?.offset ?? Infinity));
  return at < 0
    ? undefined
    : damaged(`holds ${items[at]?.key ?? ''} and ${items[at + 1]?.key ?? ''} in the same bytes`);
}

function isOutside(path: string): boolean {
  return path.startsWith('/') || path.split(/[/\\]/).includes('..');
}
