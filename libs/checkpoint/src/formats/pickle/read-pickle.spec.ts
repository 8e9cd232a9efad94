import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UnreadableSave } from '../../read/unreadable-save.ts';
import { readDcpMetadata } from '../dcp/dcp-metadata.ts';
import { PickleDict, PickleGlobal, PickleObject, type PickleValue } from './pickle-value.ts';
import { readPickle } from './read-pickle.ts';

/** A pickle of these bytes and characters, without its STOP. */
function pickle(...parts: readonly (string | number | readonly number[])[]): Uint8Array {
  const bytes = parts.flatMap((part) => (typeof part === 'string' ? [...Buffer.from(part, 'latin1')] : part));
  return Uint8Array.from([...bytes, 0x2e]);
}

/** `text` as SHORT_BINUNICODE. */
const text = (value: string): readonly number[] => [0x8c, Buffer.byteLength(value), ...Buffer.from(value)];

describe('a pickle is read as data', () => {
  it.each<[what: string, want: PickleValue, bytes: Uint8Array]>([
    ['None', null, pickle('N')],
    ['a bool', true, pickle(0x88)],
    ['a small integer', 7, pickle('K', 7)],
    ['a negative integer', -2, pickle('J', [0xfe, 0xff, 0xff, 0xff])],
    ['an offset beyond 2^31', 2 ** 31 + 5, pickle(0x8a, 5, [5, 0, 0, 0x80, 0])],
    ['a negative long', -129, pickle(0x8a, 2, [0x7f, 0xff])],
    ['an integer beyond 2^53 as a bigint', 2n ** 64n, pickle(0x8a, 9, [0, 0, 0, 0, 0, 0, 0, 0, 1])],
    ['a float', 1.5, pickle('G', [0x3f, 0xf8, 0, 0, 0, 0, 0, 0])],
    ['text', 'größe', pickle(text('größe'))],
    ['a tuple', [1, 2], pickle('K', 1, 'K', 2, 0x86)],
    ['a list in two parts', [1, 2, 3], pickle(']', '(', 'K', 1, 'K', 2, 'e', 'K', 3, 'a')],
    ['a value that is used again', ['a', 'a'], pickle(text('a'), 0x94, 'h', 0, 0x86)],
    ['a class by its name, which is not imported', new PickleGlobal('os', 'system'), pickle('cos\nsystem\n')],
  ])('%s', (_what, want, bytes) => {
    expect(readPickle(bytes)).toEqual(want);
  });

  it('a dict keeps the last value of a key', () => {
    const dict = readPickle(pickle('}', '(', text('k'), 'K', 1, text('k'), 'K', 2, 'u'));
    expect(dict instanceof PickleDict && dict.get('k')).toBe(2);
  });

  it('a call is what would be called and with what; it is not made', () => {
    const call = readPickle(pickle('cos\nsystem\n', text('touch x'), 0x85, 'R'));
    expect(call).toEqual(new PickleObject(new PickleGlobal('os', 'system'), ['touch x']));
  });
});

describe('a hostile pickle is refused', () => {
  it.each<[what: string, reason: RegExp, bytes: Uint8Array]>([
    ['that is empty', /wants 1 more bytes/, new Uint8Array()],
    ['whose text is said to have 2^60 bytes', /more bytes, and it has only/, pickle(0x8d, [0, 0, 0, 0, 0, 0, 0, 0x10])],
    ['that takes from an empty stack', /takes more values/, pickle(0x86)],
    ['that ends without a value', /has none/, pickle()],
    ['that uses a mark it never set', /never set/, pickle('t')],
    ['that uses a value it never set', /never set/, pickle('h', 3)],
    ['with a memo number beyond its length', /never set/, pickle('j', [0xff, 0xff, 0xff, 0x7f])],
    ['with an opcode of an extension registry', /is not one that checkpoints use/, pickle(0x82, 1)],
    ['of a protocol of the future', /protocol 9/, pickle(0x80, 9, 'N')],
    [
      'with an integer of 200 bytes',
      /integer of 200 bytes/,
      pickle(
        0x8a,
        200,
        Array.from({ length: 200 }, () => 0xff),
      ),
    ],
    ['with a key that has no value', /has no value/, pickle('}', '(', 'N', 'u')],
    ['with a million empty lists', /more than \d+ containers/, pickle(']'.repeat(1_000_000))],
  ])('%s', (_what, reason, bytes) => {
    expect(() => readPickle(bytes)).toThrow(reason);
  });

  it('three million tuples within each other end as a value or a reason, and not as a crash', () => {
    expect(() =>
      readPickle(
        pickle(
          'N',
          Array.from({ length: 3_000_000 }, () => 0x85),
        ),
      ),
    ).toThrow(UnreadableSave);
  });
});

describe('metadata of a save with any byte changed', () => {
  const metadata = Uint8Array.from(readFileSync(join(import.meta.dirname, '../../../fixtures/dcp-2.15.0/.metadata')));

  /** Deterministic, so that a failure can be repeated. */
  function* changes(count: number): Generator<Uint8Array> {
    let seed = 1;
    const next = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let round = 0; round < count; round++) {
      const copy = Uint8Array.from(metadata);
      for (let edits = 1 + next(4); edits > 0; edits--) copy[next(copy.length)] = next(256);
      yield next(4) === 0 ? copy.subarray(0, next(copy.length)) : copy;
    }
  }

  it('is read, or refused with a reason', () => {
    expect(metadata.length).toBeGreaterThan(1000);
    let refused = 0;
    for (const changed of changes(3000)) {
      try {
        readDcpMetadata(changed);
      } catch (error) {
        if (!(error instanceof UnreadableSave)) throw error;
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(1000);
  });
});
