/** Reads Python pickles without Python: nothing is imported, nothing is run, an unknown class is data. */
import { UnreadableSave } from '../../read/unreadable-save.ts';
import { OP } from './opcodes.ts';
import { PickleBytes } from './pickle-bytes.ts';
import { PickleDict, PickleGlobal, PickleObject, PicklePersistent, type PickleValue } from './pickle-value.ts';
import { readMemoUses, type MemoUses } from './read-memo-uses.ts';

/** How values of classes are kept, where the general form would be larger than needed. Keys are paths such as `torch.Size`. */
export interface PickleForms {
  /** What a call is read as, in place of a {@link PickleObject}. */
  readonly calls?: Readonly<Record<string, (args: PickleValue) => PickleValue>>;
  /** What the state of an object is kept as. */
  readonly states?: Readonly<Record<string, (state: PickleValue) => PickleValue>>;
}

/** So many containers any pickle may hold. */
const CONTAINERS_OF_ANY = 100_000;
/** Metadata of PyTorch takes 6.4 to 16 bytes a container; fewer than 6 are no checkpoint's. */
const BYTES_OF_CONTAINER = 6;
/** So many numbers and constants any pickle may hold. */
const SCALARS_OF_ANY = 1_000_000;
/** Metadata of PyTorch takes 4 to 8 bytes a number or constant. */
const BYTES_OF_SCALAR = 3;

/**
 * The value of a pickle of protocol 0 to 5, as far as checkpoints use them.
 * @throws UnreadableSave if it is cut, takes more memory than its size explains, or uses an opcode that no checkpoint uses.
 */
export function readPickle(pickle: Uint8Array, forms: PickleForms = {}): PickleValue {
  const uses = readMemoUses(pickle, {
    containers: CONTAINERS_OF_ANY + Math.floor(pickle.length / BYTES_OF_CONTAINER),
    scalars: SCALARS_OF_ANY + Math.floor(pickle.length / BYTES_OF_SCALAR),
  });
  return new PickleMachine(pickle, uses, forms).run();
}

/** The tuple `()`. All uses share it. */
const EMPTY_TUPLE: PickleValue[] = [];

type Form = (value: PickleValue) => PickleValue;

/** The stack machine of `pickle.Unpickler`. */
class PickleMachine {
  readonly #bytes: PickleBytes;
  readonly #uses: MemoUses;
  readonly #calls: FormsByClass;
  readonly #states: FormsByClass;
  readonly #memo = new Map<number, PickleValue>();
  readonly #marks: number[] = [];
  readonly #stack: PickleValue[] = [];
  #memoized = 0;

  constructor(pickle: Uint8Array, uses: MemoUses, forms: PickleForms) {
    this.#bytes = new PickleBytes(pickle);
    this.#uses = uses;
    this.#calls = new FormsByClass(forms.calls);
    this.#states = new FormsByClass(forms.states);
  }

  run(): PickleValue {
    for (;;) {
      const op = this.#bytes.uint8();
      if (op === OP.STOP) return this.#pop();
      if (!this.#scalar(op) && !this.#container(op) && !this.#memoOrObject(op)) {
        throw new UnreadableSave(`opcode 0x${op.toString(16)} is not one that checkpoints use`);
      }
    }
  }

  /** Values without parts. False: the opcode is no such value. */
  #scalar(op: number): boolean {
    const bytes = this.#bytes;
    switch (op) {
      case OP.PROTO:
        return this.#protocol(bytes.uint8());
      case OP.FRAME:
        bytes.skip(8);
        return true;
      case OP.NONE:
        return this.#push(null);
      case OP.NEWTRUE:
        return this.#push(true);
      case OP.NEWFALSE:
        return this.#push(false);
      case OP.BININT1:
        return this.#push(bytes.uint8());
      case OP.BININT2:
        return this.#push(bytes.uint16());
      case OP.BININT:
        return this.#push(bytes.int32());
      case OP.LONG1:
        return this.#push(readLong(bytes.bytes(bytes.uint8())));
      case OP.LONG4:
        return this.#push(readLong(bytes.bytes(bytes.uint32())));
      case OP.BINFLOAT:
        return this.#push(bytes.float64());
      case OP.SHORT_BINUNICODE:
      case OP.SHORT_BINSTRING:
        return this.#push(bytes.text(bytes.uint8()));
      case OP.BINUNICODE:
      case OP.BINSTRING:
        return this.#push(bytes.text(bytes.uint32()));
      case OP.BINUNICODE8:
        return this.#push(bytes.text(bytes.uint64()));
      case OP.SHORT_BINBYTES:
        return this.#push(bytes.bytes(bytes.uint8()));
      case OP.BINBYTES:
        return this.#push(bytes.bytes(bytes.uint32()));
      case OP.BINBYTES8:
      case OP.BYTEARRAY8:
        return this.#push(bytes.bytes(bytes.uint64()));
      default:
        return false;
    }
  }

  #protocol(version: number): boolean {
    if (version > 5) throw new UnreadableSave(`it is of protocol ${String(version)}; protocols 0 to 5 are read`);
    return true;
  }

  /** Tuples, lists, dicts and sets. False: the opcode is none. */
  #container(op: number): boolean {
    switch (op) {
      case OP.MARK:
        this.#marks.push(this.#stack.length);
        return true;
      case OP.POP_MARK:
        this.#sinceMark();
        return true;
      case OP.POP:
        this.#pop();
        return true;
      case OP.DUP:
        return this.#push(this.#top());
      case OP.EMPTY_TUPLE:
        return this.#push(EMPTY_TUPLE);
      case OP.EMPTY_LIST:
      case OP.EMPTY_SET:
        return this.#push([]);
      case OP.EMPTY_DICT:
        return this.#push(new PickleDict());
      case OP.TUPLE1:
        return this.#tuple(1);
      case OP.TUPLE2:
        return this.#tuple(2);
      case OP.TUPLE3:
        return this.#tuple(3);
      case OP.TUPLE:
      case OP.FROZENSET:
        return this.#push(this.#sinceMark());
      case OP.APPEND:
        return this.#append([this.#pop()]);
      case OP.APPENDS:
      case OP.ADDITEMS:
        return this.#append(this.#sinceMark());
      case OP.SETITEM:
        return this.#set(this.#popMany(2));
      case OP.SETITEMS:
        return this.#set(this.#sinceMark());
      default:
        return false;
    }
  }

  /** Memo, classes and objects. False: the opcode is none. */
  #memoOrObject(op: number): boolean {
    switch (op) {
      case OP.MEMOIZE:
        return this.#memoize(this.#memoized++);
      case OP.BINPUT:
        return this.#memoize(this.#bytes.uint8());
      case OP.LONG_BINPUT:
        return this.#memoize(this.#bytes.uint32());
      case OP.BINGET:
        return this.#recall(this.#bytes.uint8());
      case OP.LONG_BINGET:
        return this.#recall(this.#bytes.uint32());
      case OP.GLOBAL:
        return this.#push(new PickleGlobal(this.#bytes.line(), this.#bytes.line()));
      case OP.STACK_GLOBAL:
        return this.#stackGlobal();
      case OP.REDUCE:
      case OP.NEWOBJ:
        return this.#make(this.#popMany(2));
      case OP.NEWOBJ_EX:
        return this.#make(this.#popMany(3));
      case OP.BUILD:
        return this.#build();
      case OP.BINPERSID:
        return this.#push(new PicklePersistent(this.#pop()));
      default:
        return false;
    }
  }

  #push(value: PickleValue): true {
    this.#stack.push(value);
    return true;
  }

  /** The values above the last mark are those that an opcode may take. */
  #pop(): PickleValue {
    const value = this.#stack.length > (this.#marks.at(-1) ?? 0) ? this.#stack.pop() : undefined;
    if (value === undefined)
      throw new UnreadableSave(`it takes a value at byte ${String(this.#bytes.at)} and has none`);
    return value;
  }

  #top(): PickleValue {
    const value = this.#stack.at(-1);
    if (value === undefined)
      throw new UnreadableSave(`it takes a value at byte ${String(this.#bytes.at)} and has none`);
    return value;
  }

  #popMany(count: number): PickleValue[] {
    const start = this.#stack.length - count;
    if (start < (this.#marks.at(-1) ?? 0)) this.#missing();
    return this.#cut(start);
  }

  #missing(): never {
    throw new UnreadableSave(`it takes more values at byte ${String(this.#bytes.at)} than it has`);
  }

  #sinceMark(): PickleValue[] {
    const mark = this.#marks.pop();
    if (mark === undefined)
      throw new UnreadableSave(`it uses a mark at byte ${String(this.#bytes.at)} that it never set`);
    return this.#cut(mark);
  }

  /** The values from `start` on. `splice` takes four times as long for the two or three values that it usually is. */
  #cut(start: number): PickleValue[] {
    const values = this.#stack.slice(start);
    this.#stack.length = start;
    return values;
  }

  #tuple(length: number): true {
    return this.#push(this.#popMany(length));
  }

  #append(values: readonly PickleValue[]): true {
    const list = this.#top();
    // Anything but a list is an object with a method `append`, whose items are left out.
    if (Array.isArray(list) && list !== EMPTY_TUPLE) for (const value of values) list.push(value);
    return true;
  }

  #set(entries: PickleValue[]): true {
    if (entries.length % 2 !== 0) throw new UnreadableSave(`a key at byte ${String(this.#bytes.at)} has no value`);
    const top = this.#top();
    const dict = top instanceof PickleDict ? top : itemsOf(top);
    if (dict?.entries.length === 0) dict.entries = entries;
    else if (dict !== undefined) for (const entry of entries) dict.entries.push(entry);
    return true;
  }

  #memoize(memo: number): true {
    if (this.#uses.has(memo)) this.#memo.set(memo, this.#top());
    return true;
  }

  #recall(memo: number): true {
    const value = this.#memo.get(memo);
    if (value === undefined) throw new UnreadableSave(`it uses the value ${String(memo)}, which it never set`);
    return this.#push(value);
  }

  #stackGlobal(): true {
    const [module, name] = this.#popMany(2);
    if (typeof module !== 'string' || typeof name !== 'string')
      throw new UnreadableSave('it names a class by something that is no text');
    return this.#push(new PickleGlobal(module, name));
  }

  #make([made, args]: readonly PickleValue[]): true {
    if (made === undefined || args === undefined) this.#missing();
    const form = this.#calls.of(made);
    return this.#push(form === undefined ? new PickleObject(made, args) : form(args));
  }

  #build(): true {
    const state = this.#pop();
    const object = this.#top();
    if (object instanceof PickleObject) {
      const form = this.#states.of(object.made);
      object.state = form === undefined ? state : form(state);
    }
    return true;
  }
}

/** Finds the form of a class, by its name once and then by the class. */
class FormsByClass {
  readonly #forms: ReadonlyMap<string, Form>;
  readonly #found = new Map<PickleValue, Form | undefined>();

  constructor(forms: Readonly<Record<string, Form>> | undefined) {
    this.#forms = new Map(Object.entries(forms ?? {}));
  }

  of(made: PickleValue): Form | undefined {
    if (this.#found.has(made)) return this.#found.get(made);
    const form = made instanceof PickleGlobal ? this.#forms.get(made.path) : undefined;
    this.#found.set(made, form);
    return form;
  }
}

/** Where the items of an object that is a kind of dict go, such as an OrderedDict. */
function itemsOf(value: PickleValue): PickleDict | undefined {
  if (!(value instanceof PickleObject)) return undefined;
  value.items ??= new PickleDict();
  return value.items;
}

/** The integer of LONG1 and LONG4: little-endian two's complement. */
function readLong(bytes: Uint8Array): number | bigint {
  const last = bytes.at(-1);
  if (last === undefined) return 0;
  // Offsets in files: each chunk has one.
  if (bytes.length <= 6 && last < 0x80) return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
  if (bytes.length > 64) throw new UnreadableSave(`it holds an integer of ${String(bytes.length)} bytes`);
  const magnitude = bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const value = BigInt.asIntN(bytes.length * 8, magnitude);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
