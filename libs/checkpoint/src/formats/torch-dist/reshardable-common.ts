/**
 * Makes the common state of a `fully_reshardable` save of Megatron-Core from that of a `dp_reshardable` one. The former has the settings of the optimizer (`param_groups`) in the
 * common state; the latter has them in an object of each model-parallel rank. Values that are not known here stay as they are: the pickle is changed, and not read and written anew.
 */
import { UnreadableSave } from '../../read/unreadable-save.ts';
import { PickleDict } from '../pickle/pickle-value.ts';
import { readPickle } from '../pickle/read-pickle.ts';
import { OP } from '../pickle/opcodes.ts';
import { readCommonState } from './common-state.ts';

const FROM = 'dp_reshardable';
const TO = 'fully_reshardable';
/** Protocol 2, which `torch.save` writes: values that are used again have numbers, and no offsets or counters that a change would break. */
const BEGIN = [OP.PROTO, 2];
/** A list of one value, which is the value number 0. */
const LIST_OF_ONE = { begin: [...BEGIN, OP.EMPTY_LIST, OP.BINPUT, 0], end: [OP.APPEND, OP.STOP] };

/**
 * The pickle of `common.pt`. `settings`: the pickles of the objects that the first model-parallel rank has beside its buckets, by name.
 * @throws UnreadableSave if they have another form than Megatron-Core 0.16 gives them; the message is a sentence without its full stop.
 */
export function fullyReshardableCommon(common: Uint8Array, settings: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const root = beginsWith(common, BEGIN) ? readPickle(common) : undefined;
  if (!(root instanceof PickleDict)) throw new UnreadableSave('The pickle in common.pt is no dict of protocol 2');
  const { optimizerSharding } = readCommonState(root);
  if (optimizerSharding !== FROM) throw new UnreadableSave(`common.pt does not say that its optimizer is ${FROM}`);
  const optimizer = [...settings].flatMap(([name, pickle]) => [text(name), onlyValueOf(name, pickle)]);
  const changed = Buffer.concat([
    Buffer.from(renamed(common).subarray(0, -1)),
    // The dict is what the pickle ends with: a key that is set again has the later value.
    ...[text('optimizer'), Uint8Array.of(OP.EMPTY_DICT, OP.MARK), ...optimizer],
    ...[text('param_state_sharding_type'), text(TO), Uint8Array.of(OP.SETITEMS, OP.SETITEM, OP.STOP)],
  ]);
  if (readCommonState(readPickle(changed)).optimizerSharding !== TO)
    throw new UnreadableSave(`common.pt names ${FROM} in a form that is not changed here`);
  return changed;
}

/** The opcodes that make the value in a list of one. Their numbers of values replace those of the pickle that they are put into, which nothing reads any more. */
function onlyValueOf(name: string, pickle: Uint8Array): Uint8Array {
  const { begin, end } = LIST_OF_ONE;
  if (!beginsWith(pickle, begin) || !beginsWith(pickle.subarray(-end.length), end))
    throw new UnreadableSave(`The object ${name} of the optimizer is no list of one value`);
  return pickle.subarray(begin.length, -end.length);
}

/** The name of the format is a text of its own, in the content metadata as well. */
function renamed(pickle: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  const old = Buffer.from(text(FROM));
  const all = Buffer.from(pickle.buffer, pickle.byteOffset, pickle.length);
  let at = 0;
  for (let found = all.indexOf(old); found >= 0; found = all.indexOf(old, at)) {
    parts.push(all.subarray(at, found), text(TO));
    at = found + old.length;
  }
  return Buffer.concat([...parts, all.subarray(at)]);
}

function text(value: string): Uint8Array {
  const bytes = new TextEncoder().encode(value);
  return Uint8Array.of(OP.BINUNICODE, bytes.length, 0, 0, 0, ...bytes);
}

function beginsWith(bytes: Uint8Array, mark: readonly number[]): boolean {
  return mark.every((byte, at) => bytes[at] === byte);
}
