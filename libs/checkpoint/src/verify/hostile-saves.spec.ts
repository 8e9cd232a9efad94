import { crc32, deflateRawSync } from 'node:zlib';
import { fixtureSave } from '../../bench/fixture-save.ts';
import type { MemorySave } from '../testing/memory-save.ts';
import { MutatedSaves } from '../../bench/mutated-saves.ts';
import { type SaveLook, verifySave } from './verify-save.ts';

const MAX_MS = 2000;
const MAX_BYTES = 512 << 20;

const look = (save: MemorySave): SaveLook => save.run(verifySave(save.list(), { level: 'V3', crc32 }));

const latin = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'latin1'));

/** `\x8c` and its length before a text. */
const text = (value: string): string => `\x8c${String.fromCharCode(value.length)}${value}`;

/** A list that holds the list before it twice, so often that as a tree it has 2^1000 leaves. */
const DOUBLING = `]q\0${Array.from({ length: 200 }, (_, at) => `](h${String.fromCharCode(at)}h${String.fromCharCode(at)}eq${String.fromCharCode(at + 1)}`).join('')}.`;

/** A hundred thousand calls of one function, with one argument. */
const CALLS = `cos\nsystem\nq\0${text('touch x')}\x85q\x01${'h\0h\x01R0'.repeat(100_000)}N.`;

describe('a hostile save ends as a reason, soon and in little memory', () => {
  const metadata = (bytes: Uint8Array) => (save: MemorySave) => save.edit('.metadata', () => bytes);

  it.each<[what: string, sentence: RegExp, change: (save: MemorySave) => unknown]>([
    [
      'a text of 2^60 bytes',
      /\.metadata cannot be read: byte \d+ wants \d+ more bytes/,
      metadata(latin('\x8d\0\0\0\0\0\0\0\x10.')),
    ],
    [
      'three million tuples in each other',
      /more than \d+ containers/,
      metadata(latin(`N${'\x85'.repeat(3_000_000)}.`)),
    ],
    ['a memo that doubles', /something else where .*Metadata belongs/, metadata(latin(DOUBLING))],
    ['a list that holds itself', /something else where .*Metadata belongs/, metadata(latin(']q\0h\0a.'))],
    ['a hundred thousand calls that would run a command', /cannot be read/, metadata(latin(CALLS))],
    [
      'a call that would run a command in place of the metadata',
      /something else where .*Metadata belongs/,
      metadata(latin(`cos\nsystem\n${text('touch x')}\x85R.`)),
    ],
    ['deflated bytes in place of metadata', /cannot be read/, metadata(deflateRawSync(new Uint8Array(1 << 20)))],
    [
      'an item that is a GiB, deflated',
      /__0_0\.distcp at byte 0 has a compressed record/,
      (save) =>
        save.edit('__0_0.distcp', (bytes) => {
          const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
          const record = Buffer.from(bytes).indexOf('PK\x01\x02', 0, 'latin1');
          view.setUint16(record + 10, 8, true);
          view.setUint32(record + 24, 1 << 30, true);
          return bytes;
        }),
    ],
  ])('%s', (_what, sentence, change) => {
    const save = fixtureSave('dcp-2.15.0');
    change(save);
    const startMs = performance.now();
    const startBytes = process.memoryUsage.rss();
    const found = look(save);
    expect(found.findings.map((finding) => finding.sentence).join(' ')).toMatch(sentence);
    expect(found.verdict).toBe('damaged');
    expect(performance.now() - startMs).toBeLessThan(MAX_MS);
    expect(process.memoryUsage.rss() - startBytes).toBeLessThan(MAX_BYTES);
  });
});

describe('a save of any fixture with one file changed', () => {
  it('is verified without an error, whatever the change (npm run campaign -- mutate-metadata: 100,000)', () => {
    const saves = new MutatedSaves();
    const verdicts = Array.from({ length: 500 }, (_, seed) => saves.verify(seed).look.verdict);
    expect(verdicts.filter((verdict) => verdict === 'damaged').length).toBeGreaterThan(200);
  });
});
