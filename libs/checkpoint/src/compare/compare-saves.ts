/** In what do two saves differ? */
import { kindOf } from '../contents-of.ts';
import type { SavedFacts, SavedState, SavedTensor } from '../read/saved-state.ts';
import { byOffsets } from './stored-checksums.ts';

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
  /** Of the stored bytes of each tensor; absent: they were not read. */
  readonly checksums?: ReadonlyMap<string, number>;
}

/** In what two saves differ. */
export interface SaveDifferences {
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
}

/** Compares two saves. Tensors are told apart by their names. */
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
  const found = {
    facts: factDifferences(one, other),
    onlyInOne: listed(one.state.tensors.map(({ key }) => key).filter((key) => !others.has(key))),
    onlyInOther: listed(other.state.tensors.map(({ key }) => key).filter((key) => !keys.has(key))),
    changed: listed(changed),
    dividedDifferently: listed(alike.filter(isDivided).map(([{ key }]) => key)),
  };
  const bytes = otherBytes(
    alike.filter((pair) => !isDivided(pair)),
    one.checksums,
    other.checksums,
  );
  const { facts, ...lists } = found;
  const isSame =
    facts.length === 0 && Object.values(lists).every(({ count }) => count === 0) && (bytes?.count ?? 0) === 0;
  return { isSame, ...found, ...(bytes === undefined ? {} : { otherBytes: bytes }) };
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

function otherBytes(
  alike: readonly (readonly [SavedTensor, SavedTensor])[],
  one: ComparedSave['checksums'],
  other: ComparedSave['checksums'],
): Listed<string> | undefined {
  if (one === undefined || other === undefined) return undefined;
  return listed(alike.map(([{ key }]) => key).filter((key) => one.get(key) !== other.get(key)));
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
