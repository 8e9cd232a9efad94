/** Reads Python pickles without Python: nothing is imported, nothing is run, an unknown class is data. */
import { UnknownForm, UnreadableSave } from '../../read/unreadable-save.ts';
import { OP } from './opcodes.ts';
import { PickleBytes } from './pickle-bytes.ts';
import { type CallForm, FormsByClass, keepState, type PickleForms, type StateForm } from './pickle-forms.ts';
import { PickleMemo } from './pickle-memo.ts';
import { PickleDict, PickleGlobal, PickleObject, PicklePersistent, type PickleValue } from './pickle-value.ts';
import { readLong } from './read-long.ts';
import { readMemoUses, type MemoUses } from './read-memo-uses.ts';
import { StateReader } from './read-state.ts';

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

/** The stack machine of `pickle.Unpickler`. */
class PickleMachine {
  readonly #bytes: PickleBytes;
  readonly #calls: FormsByClass<CallForm>;
  readonly #states: FormsByClass<StateForm>;
  readonly #memo: PickleMemo;
  readonly #stateReader: StateReader;
  readonly #marks: number[] = [];
  /** The value of the last mark: an opcode may take values above it. */
  #floor = 0;
  /** Values stand below `#depth`. What is above was popped; to shorten an array takes as long as ten opcodes. */
  readonly #stack: PickleValue[] = [];
  #depth = 0;

  constructor(pickle: Uint8Array, uses: MemoUses, forms: PickleForms) {
    this.#bytes = new PickleBytes(pickle);
    this.#memo = new PickleMemo(uses);
    this.#calls = new FormsByClass(forms.calls);
    this.#states = new FormsByClass(forms.states);
    this.#stateReader = new StateReader(this.#bytes, this.#memo, this.#calls);
  }

  run(): PickleValue {
    const bytes = this.#bytes;
    for (;;) {
      const op = bytes.uint8();
      // Opcodes that metadata consists of come first; the rest is looked for in three larger sets.
      switch (op) {
        case OP.MEMOIZE:
          this.#memoize(this.#memo.next++);
          break;
        case OP.BINGET:
          this.#recall(bytes.uint8());
          break;
        case OP.LONG_BINGET:
          this.#recall(bytes.uint32());
          break;
        case OP.BININT1:
          this.#push(bytes.uint8());
          break;
        case OP.BININT2:
          this.#push(bytes.uint16());
          break;
        case OP.STOP:
          return this.#pop();
        default:
          if (!this.#container(op) && !this.#memoOrObject(op) && !this.#scalar(op))
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
    if (version > 5) throw new UnknownForm(`it is of protocol ${String(version)}; protocols 0 to 5 are read`);
    return true;
  }

  /** Tuples, lists, dicts and sets. False: the opcode is none. */
  #container(op: number): boolean {
    switch (op) {
      case OP.MARK:
        this.#marks.push(this.#depth);
        this.#floor = this.#depth;
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
        return this.#push([this.#pop()]);
      case OP.TUPLE2:
        return this.#pair(this.#pop(), this.#pop());
      case OP.TUPLE3:
        return this.#push(this.#popMany(3));
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
      case OP.BINPUT:
        return this.#memoize(this.#bytes.uint8());
      case OP.LONG_BINPUT:
        return this.#memoize(this.#bytes.uint32());
      case OP.GLOBAL:
        return this.#push(new PickleGlobal(this.#bytes.line(), this.#bytes.line()));
      case OP.STACK_GLOBAL:
        return this.#stackGlobal();
      case OP.NEWOBJ:
        return this.#makeObject(this.#pop(), this.#pop());
      case OP.REDUCE:
        return this.#make(this.#pop(), this.#pop());
      case OP.NEWOBJ_EX:
        this.#pop();
        return this.#make(this.#pop(), this.#pop());
      case OP.BUILD:
        return this.#build();
      case OP.BINPERSID:
        return this.#push(new PicklePersistent(this.#pop()));
      default:
        return false;
    }
  }

  #push(value: PickleValue): true {
    this.#stack[this.#depth++] = value;
    return true;
  }

  #pop(): PickleValue {
    const value = this.#depth > this.#floor ? this.#stack[--this.#depth] : undefined;
    return value === undefined ? this.#missing() : value;
  }

  #top(): PickleValue {
    const value = this.#depth > 0 ? this.#stack[this.#depth - 1] : undefined;
    return value === undefined ? this.#missing() : value;
  }

  #popMany(count: number): PickleValue[] {
    const start = this.#depth - count;
    if (start < this.#floor) this.#missing();
    return this.#cut(start);
  }

  #missing(): never {
    throw new UnreadableSave(`it takes more values at byte ${String(this.#bytes.at)} than it has`);
  }

  #sinceMark(): PickleValue[] {
    const mark = this.#marks.pop();
    if (mark === undefined)
      throw new UnreadableSave(`it uses a mark at byte ${String(this.#bytes.at)} that it never set`);
    this.#floor = this.#marks.at(-1) ?? 0;
    return this.#cut(mark);
  }

  /** The values from `start` on. */
  #cut(start: number): PickleValue[] {
    const values = this.#stack.slice(start, this.#depth);
    this.#depth = start;
    return values;
  }

  #pair(second: PickleValue, first: PickleValue): true {
    return this.#push([first, second]);
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
    if (this.#memo.isUsed(memo)) this.#memo.set(memo, this.#top());
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

  #make(args: PickleValue, made: PickleValue): true {
    const form = this.#calls.of(made);
    return this.#push(form === undefined ? new PickleObject(made, args) : form(args));
  }

  /** An object of a class with a form is mostly followed by its state. */
  #makeObject(args: PickleValue, made: PickleValue): true {
    const form = this.#states.of(made);
    if (form === undefined) return this.#make(args, made);
    const object = new PickleObject(made, args);
    object.state = this.#stateReader.read(form);
    return this.#push(object);
  }

  #build(): true {
    const state = this.#pop();
    const object = this.#top();
    if (object instanceof PickleObject) {
      const form = this.#states.of(object.made);
      object.state = form === undefined ? state : keepState(form, state);
    }
    return true;
  }
}

/** Where the items of an object that is a kind of dict go, such as an OrderedDict. */
function itemsOf(value: PickleValue): PickleDict | undefined {
  if (!(value instanceof PickleObject)) return undefined;
  value.items ??= new PickleDict();
  return value.items;
}
