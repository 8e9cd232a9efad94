/** Finds out which values of a pickle are used again, before any is built. */
import { OP } from './opcodes.ts';
import { PickleBytes } from './pickle-bytes.ts';
import { UnreadableSave } from '../../read/unreadable-save.ts';

/** A set of small integers. */
class Bits {
  #words = new Uint32Array(1024);

  add(index: number): void {
    const word = index >>> 5;
    if (word >= this.#words.length) {
      const wider = new Uint32Array(Math.max(word + 1, this.#words.length * 2));
      wider.set(this.#words);
      this.#words = wider;
    }
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (index & 31));
  }

  has(index: number): boolean {
    return (((this.#words[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1;
  }
}

/** What a first look at a pickle finds. */
export interface MemoUses {
  /** Whether the value that was memoized under this number is used again. */
  readonly has: (memo: number) => boolean;
}

/** How far an opcode's argument goes. */
type Skip = (bytes: PickleBytes) => void;

const fixed =
  (length: number): Skip =>
  (bytes) =>
    bytes.skip(length);

const SKIPS: readonly (Skip | undefined)[] = skips();

/** A pickle with more is refused before it takes memory. */
export interface PickleLimits {
  /** Tuples, lists, dicts and objects; text and bytes too, which take as much memory or more. */
  readonly containers: number;
  /** Numbers, constants, and values that are used again. */
  readonly scalars: number;
}

/**
 * Reads opcodes and builds nothing. A million chunks are nine million tuples, dicts and objects, all memoized, and hardly one is
 * used again: a memo that kept them all would hold 2 GB.
 */
export function readMemoUses(pickle: Uint8Array, limits: PickleLimits): MemoUses {
  const bytes = new PickleBytes(pickle);
  const used = new Bits();
  let containers = 0;
  let scalars = 0;
  for (;;) {
    const at = bytes.at;
    const op = bytes.uint8();
    if (op === OP.STOP) return used;
    if (SCALARS[op] === 1 && ++scalars > limits.scalars) throw tooMany(limits.scalars, 'numbers and constants');
    if (op === OP.BINGET) used.add(bytes.uint8());
    else if (op === OP.LONG_BINGET) used.add(checkedMemo(bytes.uint32(), pickle.length));
    else {
      const skip = SKIPS[op];
      if (skip === undefined)
        throw new UnreadableSave(`opcode 0x${op.toString(16)} at byte ${String(at)} is not one that checkpoints use`);
      skip(bytes);
      containers += CONTAINERS[op] ?? 0;
      if (containers > limits.containers) throw tooMany(limits.containers, 'containers');
    }
  }
}

/** Each value takes a byte at least, so a larger number was never memoized. */
function checkedMemo(memo: number, length: number): number {
  if (memo >= length) throw new UnreadableSave(`it uses the value ${String(memo)}, which it never set`);
  return memo;
}

function tooMany(limit: number, what: string): UnreadableSave {
  return new UnreadableSave(`it holds more than ${String(limit)} ${what}, more than a checkpoint of its size`);
}

const CONTAINERS = tableOf(
  ...[OP.TUPLE1, OP.TUPLE2, OP.TUPLE3, OP.TUPLE, OP.EMPTY_LIST, OP.EMPTY_DICT, OP.EMPTY_SET, OP.FROZENSET],
  ...[OP.REDUCE, OP.NEWOBJ, OP.NEWOBJ_EX, OP.BINPERSID, OP.MARK, OP.DUP, OP.GLOBAL, OP.STACK_GLOBAL],
  ...[OP.SHORT_BINUNICODE, OP.BINUNICODE, OP.BINUNICODE8, OP.SHORT_BINSTRING, OP.BINSTRING],
  // Views of bytes take as much memory as three.
  ...Array.from({ length: 3 }, () => [OP.SHORT_BINBYTES, OP.BINBYTES, OP.BINBYTES8, OP.BYTEARRAY8]).flat(),
);
const SCALARS = tableOf(
  ...[OP.NONE, OP.NEWTRUE, OP.NEWFALSE, OP.EMPTY_TUPLE, OP.BINGET, OP.LONG_BINGET],
  ...[OP.BININT1, OP.BININT2, OP.BININT, OP.LONG1, OP.LONG4, OP.BINFLOAT],
);

function tableOf(...ops: readonly number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const op of ops) table[op] = (table[op] ?? 0) + 1;
  return table;
}

function skips(): (Skip | undefined)[] {
  const table = Array.from<Skip | undefined>({ length: 256 });
  for (const op of Object.values(OP)) table[op] = fixed(0);
  for (const op of [OP.PROTO, OP.BININT1, OP.BINPUT]) table[op] = fixed(1);
  table[OP.BININT2] = fixed(2);
  for (const op of [OP.BININT, OP.LONG_BINPUT]) table[op] = fixed(4);
  for (const op of [OP.FRAME, OP.BINFLOAT]) table[op] = fixed(8);
  for (const op of [OP.LONG1, OP.SHORT_BINUNICODE, OP.SHORT_BINBYTES, OP.SHORT_BINSTRING]) {
    table[op] = (bytes) => bytes.skip(bytes.uint8());
  }
  for (const op of [OP.LONG4, OP.BINUNICODE, OP.BINBYTES, OP.BINSTRING])
    table[op] = (bytes) => bytes.skip(bytes.uint32());
  for (const op of [OP.BINUNICODE8, OP.BINBYTES8, OP.BYTEARRAY8]) table[op] = (bytes) => bytes.skip(bytes.uint64());
  table[OP.GLOBAL] = (bytes) => {
    bytes.line();
    bytes.line();
  };
  return table;
}
