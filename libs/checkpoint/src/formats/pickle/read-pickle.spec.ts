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
    ['an integer of many bytes', 2n ** 600n, pickle(0x8a, 76, [...Array.from({ length: 75 }, () => 0), 1])],
    [
      'a negative integer of many bytes',
      -(2n ** 600n),
      pickle(0x8a, 76, [...Array.from({ length: 75 }, () => 0), 255]),
    ],
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
    ['that ends without a value', /takes more values/, pickle()],
    ['that uses a mark it never set', /never set/, pickle('t')],
    ['that uses a value it never set', /never set/, pickle('h', 3)],
    ['with a memo number beyond its length', /never set/, pickle('j', [0xff, 0xff, 0xff, 0x7f])],
    ['with an opcode of an extension registry', /is not one that checkpoints use/, pickle(0x82, 1)],
    ['of a protocol of the future', /protocol 9/, pickle(0x80, 9, 'N')],
    [
      'with an integer of 5,000 bytes',
      /integer of 5000 bytes/,
      pickle(
        0x8b,
        [0x88, 0x13, 0, 0],
        Array.from({ length: 5000 }, () => 0xff),
      ),
    ],
    ['with a key that has no value', /has no value/, pickle('}', '(', 'N', 'u')],
    ['with a million empty lists', /more than \d+ containers/, pickle(']'.repeat(1_000_000))],
    ['with 100,000 views of no bytes', /more than \d+ containers/, pickle('C\0'.repeat(100_000))],
    ['with 200,000 texts', /more than \d+ containers/, pickle('\x8c\x01a'.repeat(250_000))],
    ['with two million constants', /more than \d+ numbers and constants/, pickle('N'.repeat(2_000_000))],
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

describe('metadata that uses a few values again and again is refused at once', () => {
  type Part = string | number | readonly number[];
  const STORAGE = 'torch.distributed.checkpoint.filesystem\n_StorageInfo\n';
  const DCP = (name: string): string => `torch.distributed.checkpoint.metadata\n${name}\n`;
  const made = (name: string, ...entries: readonly Part[]): readonly Part[] => [
    ...[`c${name}`, ')', 0x81, '}', '('],
    ...entries,
    ...['u', 'b'],
  ];
  const size: readonly Part[] = ['ctorch\nSize\n', 'K', 1, 0x85, 0x85, 'R'];
  const chunk = made(DCP('ChunkStorageMetadata'), text('offsets'), ...size, text('sizes'), ...size);
  const properties: readonly Part[] = [`c${DCP('TensorProperties')}`, ')', 0x81, 'ctorch\nint8\n', 0x85, 'b'];
  const tensor = (...chunks: readonly Part[]): readonly Part[] =>
    made(
      DCP('TensorStorageMetadata'),
      text('properties'),
      ...properties,
      text('size'),
      ...size,
      text('chunks'),
      ...chunks,
    );
  const metadata = (tensors: readonly Part[], items: readonly Part[]): Uint8Array =>
    pickle(
      ...made(
        DCP('Metadata'),
        text('state_dict_metadata'),
        '}',
        '(',
        ...tensors,
        'u',
        text('storage_data'),
        '}',
        '(',
        ...items,
        'u',
      ),
    );
  const index = made(DCP('MetadataIndex'), text('fqn'), text('t0'), text('offset'), ...size, text('index'), 'N');
  const info = (...transforms: readonly Part[]): readonly Part[] =>
    made(
      STORAGE,
      text('relative_path'),
      text('f'),
      text('offset'),
      'K',
      0,
      text('length'),
      'K',
      9,
      text('transform_descriptors'),
      ...transforms,
    );
  const names = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `t${String(at)}`);

  it.each<[what: string, reason: RegExp, bytes: () => Uint8Array]>([
    [
      'a thousand tensors of the same thousand chunks',
      /more chunks and items than its size explains/,
      () => {
        const all: readonly Part[] = [']', 'q', 2, '(', ...chunk, 'q', 1, 'h\x01'.repeat(999), 'e'];
        const first: readonly Part[] = [text('t0'), ...tensor(...all), 'q', 3];
        return metadata([...first, ...names(1000).flatMap((name): Part[] => [text(name), 'h\x03'])], []);
      },
    ],
    [
      'the same item ten thousand times',
      /more chunks and items than its size explains/,
      () =>
        metadata([text('t0'), ...tensor(']')], [...index, 'q', 1, ...info(']'), 'q', 2, 'h\x01h\x02'.repeat(10_000)]),
    ],
    [
      'an item of a hundred transforms',
      /more transforms than DCP chains/,
      () =>
        metadata(
          [text('t0'), ...tensor(']', ...chunk, 'a')],
          [...index, ...info(']', '(', text('z'), 'q', 4, 'h\x04'.repeat(99), 'e')],
        ),
    ],
    [
      'a long dict as the state of a hundred thousand objects',
      /something else where/,
      () => {
        const dict: readonly Part[] = ['}', 'q', 1, '(', 'K\x01N'.repeat(100_000), 'u', '0'];
        const state: readonly Part[] = [
          `c${DCP('ChunkStorageMetadata')}`,
          'q',
          2,
          '0',
          '(',
          'h\x02)\x81h\x01b0'.repeat(100_000),
          '1',
        ];
        return pickle(...dict, ...state, 'N');
      },
    ],
  ])('%s', (_what, reason, bytes) => {
    const hostile = bytes();
    const startMs = performance.now();
    expect(() => readDcpMetadata(hostile)).toThrow(reason);
    expect(performance.now() - startMs).toBeLessThan(5000);
  });

  it('the same parts make metadata that is read, if each is there once', () => {
    const state = readDcpMetadata(metadata([text('t0'), ...tensor(']', ...chunk, 'a')], [...index, ...info('N')]));
    expect(state.tensors[0]?.chunks[0]?.item).toEqual({ file: 'f', offset: 0, length: 9 });
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
