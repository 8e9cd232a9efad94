/** What a Python pickle holds, as plain data. */

/** A class or function by its name. It is never imported or called. */
export class PickleGlobal {
  readonly module: string;
  readonly name: string;
  /** Module and name, such as `torch.float32`. */
  readonly path: string;

  constructor(module: string, name: string) {
    this.module = module;
    this.name = name;
    this.path = `${module}.${name}`;
  }
}

/** Of all dicts without entries: the first entries come as an array of their own. */
const NO_ENTRIES: PickleValue[] = [];

/** A dict: keys and values in turn, in the order in which they were set. A key that is set twice stands twice; the last one counts. */
export class PickleDict {
  entries: PickleValue[] = NO_ENTRIES;

  /** The value of a text key; undefined if there is none. */
  get(key: string): PickleValue | undefined {
    if (this.entries.length > SHORT) return valuesOf(this).get(key);
    for (let at = this.entries.length - 2; at >= 0; at -= 2) {
      if (this.entries[at] === key) return this.entries[at + 1];
    }
    return undefined;
  }
}

/** Entries of a dict that are found as fast one by one: dicts of a million chunks need no index. */
const SHORT = 64;

/** A long dict can be the state of a million objects: each of them must not walk it. */
const INDEXES = new WeakMap<PickleDict, { readonly values: Map<PickleValue, PickleValue>; upTo: number }>();

function valuesOf(dict: PickleDict): ReadonlyMap<PickleValue, PickleValue> {
  const index = INDEXES.get(dict) ?? { values: new Map<PickleValue, PickleValue>(), upTo: 0 };
  INDEXES.set(dict, index);
  const { entries } = dict;
  for (; index.upTo < entries.length; index.upTo += 2)
    index.values.set(entries[index.upTo] ?? null, entries[index.upTo + 1] ?? null);
  return index.values;
}

/** An object: what makes it, with which arguments, the state that was put into it, and its items if it is a kind of dict. */
export class PickleObject {
  readonly made: PickleValue;
  readonly args: PickleValue;
  state: PickleValue | undefined;
  items: PickleDict | undefined;

  constructor(made: PickleValue, args: PickleValue) {
    this.made = made;
    this.args = args;
    this.state = undefined;
    this.items = undefined;
  }

  /** Module and name of what makes it; undefined if that is no {@link PickleGlobal}. */
  get path(): string | undefined {
    return this.made instanceof PickleGlobal ? this.made.path : undefined;
  }
}

/** A reference to something outside of the pickle, as `torch.save` refers to storages. */
export class PicklePersistent {
  readonly id: PickleValue;

  constructor(id: PickleValue) {
    this.id = id;
  }
}

/**
 * Tuples, lists and sets are arrays. Integers beyond 2^53 are bigints. Values can be shared and can contain themselves: never walk
 * one without a bound.
 */
export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PickleValue[]
  | PickleDict
  | PickleGlobal
  | PickleObject
  | PicklePersistent;
