/** Reads the states of a million objects of a few classes, without building a dict and tuples for each. */
import { OP } from './opcodes.ts';
import type { PickleBytes } from './pickle-bytes.ts';
import type { CallForm, FormsByClass, StateForm } from './pickle-forms.ts';
import type { PickleMemo } from './pickle-memo.ts';
import type { PickleValue } from './pickle-value.ts';
import { readLong } from './read-long.ts';

/**
 * Reads states of text, numbers and calls with one tuple of numbers, in the way that the pickler of CPython writes them. All else is left to
 * the machine, which reads every pickle: this is only faster.
 */
export class StateReader {
  readonly #bytes: PickleBytes;
  readonly #memo: PickleMemo;
  readonly #calls: FormsByClass<CallForm>;
  readonly #values: PickleValue[] = [];

  constructor(bytes: PickleBytes, memo: PickleMemo, calls: FormsByClass<CallForm>) {
    this.#bytes = bytes;
    this.#memo = memo;
    this.#calls = calls;
  }

  /** What is kept for the state of an object that was just made. undefined: it is written in another way, and nothing was read. */
  read({ fields, keep }: StateForm): PickleValue | undefined {
    const { at } = this.#bytes;
    const { next } = this.#memo;
    if (this.#begin() && this.#readFields(fields) && this.#take(OP.BUILD)) return keep(this.#values);
    this.#bytes.at = at;
    this.#memo.next = next;
    return undefined;
  }

  #begin(): boolean {
    return this.#takeMemoized() && this.#take(OP.EMPTY_DICT) && this.#takeMemoized() && this.#take(OP.MARK);
  }

  #readFields(fields: readonly string[]): boolean {
    for (let field = 0; field < fields.length; field++) this.#values[field] = null;
    while (!this.#take(OP.SETITEMS)) {
      const key = this.#readValue(this.#bytes.uint8());
      const field = typeof key === 'string' ? fields.indexOf(key) : -1;
      const value = field < 0 ? undefined : this.#readValue(this.#bytes.uint8());
      if (value === undefined) return false;
      this.#values[field] = value;
    }
    return true;
  }

  #readValue(op: number): PickleValue | undefined {
    switch (op) {
      case OP.NONE:
        return null;
      case OP.SHORT_BINUNICODE:
        return this.#memoized(this.#bytes.text(this.#bytes.uint8()));
      case OP.BINGET:
        return this.#recalled(this.#memo.get(this.#bytes.uint8()));
      case OP.LONG_BINGET:
        return this.#recalled(this.#memo.get(this.#bytes.uint32()));
      default:
        return this.#readNumber(op);
    }
  }

  #readNumber(op: number): number | undefined {
    switch (op) {
      case OP.BININT1:
        return this.#bytes.uint8();
      case OP.BININT2:
        return this.#bytes.uint16();
      case OP.BININT:
        return this.#bytes.int32();
      case OP.LONG1: {
        const long = readLong(this.#bytes.bytes(this.#bytes.uint8()));
        return typeof long === 'number' ? long : undefined;
      }
      default:
        return undefined;
    }
  }

  /** A value that was memoized, or what a call of it gives. */
  #recalled(value: PickleValue | undefined): PickleValue | undefined {
    if (typeof value === 'string' || Array.isArray(value)) return value;
    const call = value === undefined ? undefined : this.#calls.of(value);
    const tuple = call === undefined ? undefined : this.#readTuple();
    const isCalled =
      tuple !== undefined &&
      this.#take(OP.TUPLE1) &&
      this.#takeMemoized() &&
      this.#take(OP.REDUCE) &&
      this.#takeMemoized();
    return isCalled ? call?.([tuple]) : undefined;
  }

  #readTuple(): PickleValue[] | undefined {
    const tuple: PickleValue[] = [];
    if (this.#take(OP.EMPTY_TUPLE)) return tuple;
    const isMarked = this.#take(OP.MARK);
    for (;;) {
      const op = this.#bytes.uint8();
      if (op === (isMarked ? OP.TUPLE : TUPLES[tuple.length])) return this.#takeMemoized() ? tuple : undefined;
      const number = this.#readNumber(op);
      if (number === undefined) return undefined;
      tuple.push(number);
    }
  }

  #memoized(text: string): string | undefined {
    if (!this.#take(OP.MEMOIZE)) return undefined;
    const memo = this.#memo.next++;
    if (this.#memo.isUsed(memo)) this.#memo.set(memo, text);
    return text;
  }

  /** Passes MEMOIZE. False: something else follows, or the value is used again, so that it has to be built. */
  #takeMemoized(): boolean {
    return this.#take(OP.MEMOIZE) && !this.#memo.isUsed(this.#memo.next++);
  }

  #take(op: number): boolean {
    return this.#bytes.take(op);
  }
}

/** The opcode of a tuple of so many values. */
const TUPLES: readonly (number | undefined)[] = [undefined, OP.TUPLE1, OP.TUPLE2, OP.TUPLE3];
