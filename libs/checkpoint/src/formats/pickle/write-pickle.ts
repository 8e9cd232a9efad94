/** Writes Python pickles: what tensors and metadata of PyTorch need, and no more. */

/** A value to write. A number is an int. */
export type WrittenValue =
  | null
  | boolean
  | number
  | string
  | { readonly tuple: readonly WrittenValue[] }
  | { readonly list: readonly WrittenValue[] }
  | { readonly dict: Iterable<readonly [WrittenValue, WrittenValue]> }
  | WrittenGlobal
  | { readonly call: WrittenGlobal; readonly args: readonly WrittenValue[] }
  | { readonly made: WrittenGlobal; readonly state: WrittenValue }
  | { readonly persistent: WrittenValue };

/** A class, a function or a value of a module. */
export interface WrittenGlobal {
  readonly module: string;
  readonly name: string;
}

const OPCODES = {
  proto: 0x80,
  stop: 0x2e,
  none: 0x4e,
  true: 0x88,
  false: 0x89,
  int1: 0x4b,
  int4: 0x4a,
  long1: 0x8a,
  text1: 0x8c,
  text4: 0x58,
  memoize: 0x94,
  put4: 0x72,
  global: 0x63,
  get1: 0x68,
  get4: 0x6a,
  mark: 0x28,
  tuple: 0x74,
  emptyTuple: 0x29,
  emptyList: 0x5d,
  appends: 0x65,
  emptyDict: 0x7d,
  setItems: 0x75,
  stackGlobal: 0x93,
  newObject: 0x81,
  reduce: 0x52,
  build: 0x62,
  persistent: 0x51,
} as const;

/**
 * The pickle of a value. Texts and names that come again are written once. Protocol 2 is what `torch.load` reads with `weights_only`; 4 is shorter.
 */
export function writePickle(value: WrittenValue, protocol: 2 | 4 = 4): Uint8Array {
  const writer = new PickleWriter(protocol);
  writer.op(OPCODES.proto, protocol);
  writer.value(value);
  writer.op(OPCODES.stop);
  return writer.finish();
}

const UTF8 = new TextEncoder();

class PickleWriter {
  #bytes = new Uint8Array(1 << 16);
  #length = 0;
  readonly #memo = new Map<string, number>();
  readonly #isOld: boolean;

  constructor(protocol: 2 | 4) {
    this.#isOld = protocol === 2;
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  op(...bytes: readonly number[]): void {
    this.#reserve(bytes.length);
    for (const byte of bytes) this.#bytes[this.#length++] = byte;
  }

  value(value: WrittenValue): void {
    if (value === null) this.op(OPCODES.none);
    else if (typeof value === 'boolean') this.op(value ? OPCODES.true : OPCODES.false);
    else if (typeof value === 'number') this.#int(value);
    else if (typeof value === 'string') this.#once(`t${value}`, () => this.#text(value));
    else if ('tuple' in value) this.#tuple(value.tuple);
    else if ('list' in value) this.#list(value.list);
    else if ('dict' in value) this.#dict(value.dict);
    else if ('persistent' in value) {
      this.value(value.persistent);
      this.op(OPCODES.persistent);
    } else if ('call' in value) this.#call(value.call, value.args, OPCODES.reduce);
    else if ('made' in value) {
      this.#call(value.made, [], OPCODES.newObject);
      this.value(value.state);
      this.op(OPCODES.build);
    } else this.#global(value);
  }

  #call(made: WrittenGlobal, args: readonly WrittenValue[], opcode: number): void {
    this.#global(made);
    this.#tuple(args);
    this.op(opcode);
  }

  #global({ module, name }: WrittenGlobal): void {
    this.#once(`g${module}.${name}`, () => {
      if (this.#isOld) {
        this.op(OPCODES.global);
        this.#raw(UTF8.encode(`${module}\n${name}\n`));
        return;
      }
      this.value(module);
      this.value(name);
      this.op(OPCODES.stackGlobal);
    });
  }

  #tuple(items: readonly WrittenValue[]): void {
    if (items.length === 0) {
      this.op(OPCODES.emptyTuple);
      return;
    }
    this.op(OPCODES.mark);
    for (const item of items) this.value(item);
    this.op(OPCODES.tuple);
  }

  #list(items: readonly WrittenValue[]): void {
    this.op(OPCODES.emptyList, OPCODES.mark);
    for (const item of items) this.value(item);
    this.op(OPCODES.appends);
  }

  #dict(entries: Iterable<readonly [WrittenValue, WrittenValue]>): void {
    this.op(OPCODES.emptyDict, OPCODES.mark);
    for (const [key, value] of entries) {
      this.value(key);
      this.value(value);
    }
    this.op(OPCODES.setItems);
  }

  #int(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${String(value)} is no integer that is written here`);
    if (value >= 0 && value < 256) this.op(OPCODES.int1, value);
    else if (value >= -(2 ** 31) && value < 2 ** 31) this.#withUint32(OPCODES.int4, value);
    else {
      this.op(OPCODES.long1, 8);
      this.#reserve(8);
      this.#view().setBigInt64(this.#length, BigInt(value), true);
      this.#length += 8;
    }
  }

  #text(value: string): void {
    const bytes = UTF8.encode(value);
    if (bytes.length < 256 && !this.#isOld) this.op(OPCODES.text1, bytes.length);
    else this.#withUint32(OPCODES.text4, bytes.length);
    this.#raw(bytes);
  }

  #raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Writes it the first time, and afterwards a reference to it. */
  #once(key: string, write: () => void): void {
    const known = this.#memo.get(key);
    if (known === undefined) {
      write();
      if (this.#isOld) this.#withUint32(OPCODES.put4, this.#memo.size);
      else this.op(OPCODES.memoize);
      this.#memo.set(key, this.#memo.size);
    } else if (known < 256) this.op(OPCODES.get1, known);
    else this.#withUint32(OPCODES.get4, known);
  }

  #withUint32(opcode: number, value: number): void {
    this.op(opcode);
    this.#reserve(4);
    this.#view().setInt32(this.#length, value, true);
    this.#length += 4;
  }

  #view(): DataView {
    return new DataView(this.#bytes.buffer);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#length + bytes));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
