/** In what do two saves differ? */
import { kindOf } from '../contents-of.ts';
import { RESHARD_FILE, type StoredFile } from '../read/save-files.ts';
import type { SavedFacts, SavedState, SavedTensor } from '../read/saved-state.ts';
import { byOffsets, type StoredChecksums } from './stored-checksums.ts';

/** Most entries of each list; the number of all is beside it. */
export const MAX_LISTED = 50;

/** The first of some entries, and how many there are. */
export interface Listed<Entry> {
  readonly count: number;
  readonly first: readonly Entry[];
}

/** One value in each save; absent: the save does not have it. */
export interface Difference {
  readonly name: string;
  readonly one?: string;
  readonly other?: string;
}

/** A save to compare. */
export interface ComparedSave {
  readonly format: string | undefined;
  readonly state: SavedState;
  readonly files: readonly Pick<StoredFile, 'path' | 'bytes'>[];
  /** Absent: the stored bytes were not read. */
  readonly checksums?: StoredChecksums;
}

/** How named parts of two saves differ. */
export interface PartDifferences {
  readonly onlyInOne: Listed<string>;
  readonly onlyInOther: Listed<string>;
  /** Of another size. */
  readonly changed: Listed<Difference>;
  /** Of the same size with other stored bytes; absent: no bytes were read. */
  readonly otherBytes?: Listed<string>;
}

/** In what two saves differ. */
export interface SaveDifferences {
  /** Nothing differs, and if bytes were read, every tensor and object was compared. */
  readonly isSame: boolean;
  /** Format, step, degrees and what else the saves say of themselves. */
  readonly facts: readonly Difference[];
  readonly onlyInOne: Listed<string>;
  readonly onlyInOther: Listed<string>;
  /** Tensors of another dtype, shape or kind. */
  readonly changed: Listed<Difference>;
  /** Tensors that are the same and stored in other boxes. */
  readonly dividedDifferently: Listed<string>;
  /** Tensors in the same boxes with other stored bytes; absent: no bytes were read. */
  readonly otherBytes?: Listed<string>;
  readonly objects: PartDifferences;
  /** `otherBytes`: beside those of tensors and objects. */
  readonly files: PartDifferences;
  /** Tensors and objects without stored bytes in one of the saves, so that nothing shows whether they are equal; absent: no bytes were read. */
  readonly notCompared?: { readonly tensors: Listed<string>; readonly objects: Listed<string> };
}

/** Compares two saves. Names identify tensors and objects, and paths identify files. */
export function compareSaves(one: ComparedSave, other: ComparedSave): SaveDifferences {
  const others = byKey(other.state);
  const keys = byKey(one.state);
  const pairs = one.state.tensors.flatMap((tensor) => {
    const twin = others.get(tensor.key);
    return twin === undefined ? [] : [[tensor, twin] as const];
  });
  const changed = pairs.flatMap(([a, b]) => changeOf(a, b) ?? []);
  const changedKeys = new Set(changed.map(({ name }) => name));
  const alike = pairs.filter(([{ key }]) => !changedKeys.has(key));
  const isDivided = ([a, b]: readonly [SavedTensor, SavedTensor]): boolean => boxesOf(a) !== boxesOf(b);
  const tensors = compareBytes(
    alike.filter((pair) => !isDivided(pair)).map(([{ key }]) => key),
    one.checksums?.tensors,
    other.checksums?.tensors,
  );
  const objects = compareParts([one, other].map(objectsOf), one.checksums?.objects, other.checksums?.objects);
  const files = compareParts([one, other].map(filesOf), one.checksums?.files, other.checksums?.files);
  const found = {
    facts: factDifferences(one, other),
    onlyInOne: listed(one.state.tensors.map(({ key }) => key).filter((key) => !others.has(key))),
    onlyInOther: listed(other.state.tensors.map(({ key }) => key).filter((key) => !keys.has(key))),
    changed: listed(changed),
    dividedDifferently: listed(alike.filter(isDivided).map(([{ key }]) => key)),
    ...(tensors === undefined ? {} : { otherBytes: tensors.otherBytes }),
    objects: objects.differences,
    files: files.differences,
    ...(tensors === undefined
      ? {}
      : { notCompared: { tensors: tensors.notCompared, objects: objects.notCompared ?? listed([]) } }),
  };
  return { isSame: hasNoEntry(found), ...found };
}

/** Whether all lists in it are empty. */
function hasNoEntry(found: object): boolean {
  if (Array.isArray(found)) return found.length === 0;
  if ('count' in found) return found.count === 0;
  return Object.values(found).every((part: object) => hasNoEntry(part));
}

/** Sizes by name; undefined: not known. */
type Parts = ReadonlyMap<string, number | undefined>;

function objectsOf({ state }: ComparedSave): Parts {
  return new Map(state.objects.map(({ key, item }) => [key, item?.length]));
}

function filesOf({ files }: ComparedSave): Parts {
  return new Map(files.filter(({ path }) => path !== RESHARD_FILE).map(({ path, bytes }) => [path, bytes]));
}

function compareParts(
  [one = new Map(), other = new Map()]: readonly Parts[],
  sums: Checksums | undefined,
  otherSums: Checksums | undefined,
): { readonly differences: PartDifferences; readonly notCompared?: Listed<string> } {
  const names = [...one.keys()];
  const both = names.filter((name) => other.has(name));
  const isChanged = (name: string): boolean => {
    const [a, b] = [one.get(name), other.get(name)];
    return a !== undefined && b !== undefined && a !== b;
  };
  const bytes = compareBytes(
    both.filter((name) => !isChanged(name)),
    sums,
    otherSums,
  );
  const differences = {
    onlyInOne: listed(names.filter((name) => !other.has(name))),
    onlyInOther: listed([...other.keys()].filter((name) => !one.has(name))),
    changed: listed(
      both
        .filter((name) => isChanged(name))
        .map((name) => ({ name, one: `${one.get(name)} bytes`, other: `${other.get(name)} bytes` })),
    ),
  };
  return bytes === undefined
    ? { differences }
    : { differences: { ...differences, otherBytes: bytes.otherBytes }, notCompared: bytes.notCompared };
}

function byKey({ tensors }: SavedState): ReadonlyMap<string, SavedTensor> {
  return new Map(tensors.map((tensor) => [tensor.key, tensor]));
}

function listed<Entry>(all: readonly Entry[]): Listed<Entry> {
  return { count: all.length, first: all.slice(0, MAX_LISTED) };
}

function changeOf(one: SavedTensor, other: SavedTensor): Difference | undefined {
  const [before, after] = [describe(one), describe(other)];
  return before === after ? undefined : { name: one.key, one: before, other: after };
}

/** `bfloat16 [4096, 4096] parameter` */
function describe(tensor: SavedTensor): string {
  return `${tensor.dtype} [${tensor.shape.join(', ')}] ${kindOf(tensor)}`;
}

function boxesOf({ chunks }: SavedTensor): string {
  return chunks
    .toSorted(byOffsets)
    .map(({ offsets, sizes }) => `${offsets.join()} ${sizes.join()}`)
    .join(';');
}

type Checksums = ReadonlyMap<string, number>;

/** What has no checksum in one of the saves is not equal to anything. */
function compareBytes(
  keys: readonly string[],
  one: Checksums | undefined,
  other: Checksums | undefined,
): { readonly otherBytes: Listed<string>; readonly notCompared: Listed<string> } | undefined {
  if (one === undefined || other === undefined) return undefined;
  const isCompared = (key: string): boolean => one.has(key) && other.has(key);
  return {
    otherBytes: listed(keys.filter((key) => isCompared(key) && one.get(key) !== other.get(key))),
    notCompared: listed(keys.filter((key) => !isCompared(key))),
  };
}

function factDifferences(one: ComparedSave, other: ComparedSave): readonly Difference[] {
  const [left, right] = [factsOf(one), factsOf(other)];
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((name) => {
    const [a, b] = [left.get(name), right.get(name)];
    if (a === b) return [];
    return [{ name, ...(a === undefined ? {} : { one: a }), ...(b === undefined ? {} : { other: b }) }];
  });
}

function factsOf({ format, state }: ComparedSave): ReadonlyMap<string, string> {
  const facts: Partial<SavedFacts> = state.facts ?? {};
  const { step, engineRelease, optimizerSharding, worldSize, degrees = {}, holds = {} } = facts;
  const entries = Object.entries({ format, step, engineRelease, optimizerSharding, worldSize, ...degrees });
  const held = Object.entries(holds).map(([what, is]) => [`holds ${what}`, is] as const);
  return new Map(
    [...entries, ...held].flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
