/** Walks what `torch.save` stored: dicts by the texts of their keys, lists, numbers. Anything else than expected is absent. */
import { UnreadableSave } from '../../read/unreadable-save.ts';
import { PickleDict, PickleObject, type PickleValue } from '../pickle/pickle-value.ts';

type Value = PickleValue | undefined;

/** A pickle can use one dict a million times: what a walk visits in all is bounded by the size of the files. */
export interface Visits {
  left: number;
}

/** Bytes of a file that an entry of a dict takes at least. */
const BYTES_OF_ENTRY = 8;
/** Small files share a dict or two. */
const VISITS_OF_ANY = 1000;

/** A tensor takes 60 bytes of a pickle, and its elements. */
export const VISITS_OF_TENSOR = 6;

/** The visits that a file of this size explains. */
export function visitsOf(bytes: number): Visits {
  return { left: VISITS_OF_ANY + Math.floor(bytes / BYTES_OF_ENTRY) };
}

/**
 * Counts what a walk makes of values that can be shared.
 * @throws UnreadableSave if it is more than the size of the file explains.
 */
export function visit(visits: Visits, count: number): void {
  visits.left -= count;
  if (visits.left < 0) throw new UnreadableSave('uses its values more often than its size explains');
}

/** The value below these keys; undefined if one of them is not there. */
export function valueAt(value: Value, ...keys: readonly string[]): Value {
  return keys.reduce<Value>((at, key) => dictOf(at)?.get(key), value);
}

/**
 * Keys and values of a dict, or of an OrderedDict; none of anything else.
 * @throws UnreadableSave if the walk visits more than the size of its file explains.
 */
export function entriesOf(value: Value, visits: Visits): readonly (readonly [key: string, value: PickleValue])[] {
  const entries = dictOf(value)?.entries ?? [];
  visit(visits, entries.length);
  const found: (readonly [string, PickleValue])[] = [];
  for (let at = 0; at + 1 < entries.length; at += 2) {
    const key = entries[at];
    if (typeof key === 'string' || typeof key === 'number') found.push([String(key), entries[at + 1] ?? null]);
  }
  return found;
}

/** The values of a list or tuple; none of anything else. */
export function listOf(value: Value): readonly PickleValue[] {
  return Array.isArray(value) ? value : [];
}

/** A whole number of at least 0; undefined if it is something else. */
export function countOf(value: Value): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Sizes of dims; undefined if it is something else. */
export function shapeOf(value: Value): readonly number[] | undefined {
  return Array.isArray(value) && value.length <= 64 && value.every((size) => countOf(size) !== undefined)
    ? (value as readonly number[])
    : undefined;
}

function dictOf(value: Value): PickleDict | undefined {
  if (value instanceof PickleDict) return value;
  return value instanceof PickleObject ? value.items : undefined;
}
