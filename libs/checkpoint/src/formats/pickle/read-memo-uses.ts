/** Finds out which values of a pickle are used again, before any is built. */
import { OP } from './opcodes.ts';
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
  const used = new Bits();
  let containers = 0;
  let scalars = 0;
  for (let at = 0; ;) {
    const op = pickle[at];
    if (op === undefined) throw cut(at, 1, pickle);
    if (op === OP.STOP) return used;
    containers += CONTAINERS[op] ?? 0;
    scalars += SCALARS[op] ?? 0;
    if (containers > limits.containers) throw tooMany(limits.containers, 'containers');
    if (scalars > limits.scalars) throw tooMany(limits.scalars, 'numbers and constants');
    const argument = ARGUMENTS[op] ?? UNKNOWN;
    const next = at + 1 + (argument < VARIABLE ? argument : lengthOfArgument(pickle, at, argument));
    if (next > pickle.length) throw cut(at + 1, next - at - 1, pickle);
    if (op === OP.BINGET) used.add(pickle[at + 1] ?? 0);
    else if (op === OP.LONG_BINGET) used.add(checkedMemo(uint32(pickle, at + 1), pickle.length));
    at = next;
  }
}

/** Bytes of an argument whose length it says itself, with its length. */
function lengthOfArgument(pickle: Uint8Array, at: number, argument: number): number {
  if (argument === LINES) return lengthOfLines(pickle, at + 1);
  const width = argument - VARIABLE;
  if (argument === UNKNOWN || at + 1 + width > pickle.length) {
    if (argument !== UNKNOWN) throw cut(at + 1, width, pickle);
    throw new UnreadableSave(
      `opcode 0x${(pickle[at] ?? 0).toString(16)} at byte ${String(at)} is not one that checkpoints use`,
    );
  }
  if (width === 1) return 1 + (pickle[at + 1] ?? 0);
  const low = uint32(pickle, at + 1);
  return width === 4 ? 4 + low : 8 + low + uint32(pickle, at + 5) * 2 ** 32;
}

/** GLOBAL has two lines: module and name. */
function lengthOfLines(pickle: Uint8Array, start: number): number {
  const first = pickle.indexOf(NEWLINE, start);
  const second = first < 0 ? -1 : pickle.indexOf(NEWLINE, first + 1);
  if (second < 0) throw new UnreadableSave('it ends within a line');
  return second + 1 - start;
}

function uint32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)) >>> 0
  );
}

function cut(at: number, wanted: number, { length }: Uint8Array): UnreadableSave {
  return new UnreadableSave(
    `byte ${String(at)} wants ${String(wanted)} more bytes, and it has only ${String(Math.max(0, length - at))}`,
  );
}

/** Each value takes a byte at least, so a larger number was never memoized. */
function checkedMemo(memo: number, length: number): number {
  if (memo >= length) throw new UnreadableSave(`it uses the value ${String(memo)}, which it never set`);
  return memo;
}

function tooMany(limit: number, what: string): UnreadableSave {
  return new UnreadableSave(`it holds more than ${String(limit)} ${what}, more than a checkpoint of its size`);
}

/** From here on a table of lengths means: the length stands in this many bytes more. */
const VARIABLE = 0x10;
const LINES = 0x20;
const UNKNOWN = 0xff;
const NEWLINE = 0x0a;
const ARGUMENTS = argumentLengths();

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

function argumentLengths(): Uint8Array {
  const table = new Uint8Array(256).fill(UNKNOWN);
  for (const op of Object.values(OP)) table[op] = 0;
  for (const op of [OP.PROTO, OP.BININT1, OP.BINPUT, OP.BINGET]) table[op] = 1;
  table[OP.BININT2] = 2;
  for (const op of [OP.BININT, OP.LONG_BINPUT, OP.LONG_BINGET]) table[op] = 4;
  for (const op of [OP.FRAME, OP.BINFLOAT]) table[op] = 8;
  for (const op of [OP.LONG1, OP.SHORT_BINUNICODE, OP.SHORT_BINBYTES, OP.SHORT_BINSTRING]) table[op] = VARIABLE + 1;
  for (const op of [OP.LONG4, OP.BINUNICODE, OP.BINBYTES, OP.BINSTRING]) table[op] = VARIABLE + 4;
  for (const op of [OP.BINUNICODE8, OP.BINBYTES8, OP.BYTEARRAY8]) table[op] = VARIABLE + 8;
  table[OP.GLOBAL] = LINES;
  return table;
}
