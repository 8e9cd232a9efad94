import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { MemorySave } from '../testing/memory-save.ts';
import type { Level } from './finding.ts';
import { type SaveLook, verifySave } from './verify-save.ts';

const FIXTURE = join(import.meta.dirname, '../../fixtures/dcp-2.15.0');

/** A save of PyTorch 2.15, made by `engines/fixtures/save_dcp.py`. */
function fixture(): MemorySave {
  return new MemorySave(
    Object.fromEntries(readdirSync(FIXTURE).map((path) => [path, Uint8Array.from(readFileSync(join(FIXTURE, path)))])),
  );
}

const look = (save: MemorySave, level: Level = 'V3'): SaveLook => save.run(verifySave(save.list(), { level, crc32 }));

/** Replaces text by text of the same length, so that the pickle stays one. */
function replaced(bytes: Uint8Array, text: string, by: string): Uint8Array {
  const latin = Buffer.from(bytes).toString('latin1');
  expect([latin.includes(text), by.length]).toEqual([true, text.length]);
  return Uint8Array.from(Buffer.from(latin.replaceAll(text, by), 'latin1'));
}

/** Each record that has bytes says that it has 900. */
function withLargestSize(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 46 < bytes.length; at++) {
    if (view.getUint32(at, true) !== 0x02014b50 || view.getUint32(at + 24, true) === 0) continue;
    for (const field of [20, 24]) view.setUint32(at + field, 900, true);
  }
  return bytes;
}

describe('a sound save of PyTorch 2.15', () => {
  it('is sound, down to its bytes', () => {
    expect(look(fixture())).toMatchObject({ format: 'dcp', verdict: 'sound', findings: [] });
  });

  it('holds what was saved: each tensor with its boxes, and the rest by name', () => {
    const { state } = look(fixture(), 'V1');
    expect(state?.tensors.map(({ key, dtype, shape, chunks }) => [key, dtype, shape, chunks.length])).toEqual([
      ['model.both', 'float32', [12, 6], 4],
      ['model.uneven', 'float32', [7, 3], 2],
      ['model.bfloat16', 'bfloat16', [4, 4], 2],
      ['model.bool', 'bool', [3], 1],
      ['model.columnMajor', 'int32', [3, 2], 1],
      ['model.scalar', 'float32', [], 1],
    ]);
    expect(state?.objects.map(({ key }) => key).toSorted()).toEqual(['loader.position', 'lr', 'step']);
  });
});

describe('of a save of PyTorch', () => {
  it.each<[what: string, found: [SaveLook['verdict'], Level], sentence: RegExp, change: (save: MemorySave) => void]>([
    [
      'without its metadata is incomplete',
      ['incomplete', 'V0'],
      /has no \.metadata: it was not finished/,
      (save) => save.files.delete('.metadata'),
    ],
    [
      'with a shard that was written later is suspect: two saves can be mixed',
      ['suspect', 'V0'],
      /1 files, such as __1_0\.distcp, were written after \.metadata/,
      (save) => save.writtenMs.set('__1_0.distcp', 60_000),
    ],
    [
      'with a cut file is damaged',
      ['damaged', 'V1'],
      /File __3_0\.distcp has \d+ bytes, and .* it is cut/,
      (save) => save.edit('__3_0.distcp', (bytes) => bytes.subarray(0, -100)),
    ],
    [
      'with a missing file is incomplete',
      ['incomplete', 'V1'],
      /File __1_0\.distcp is not there; it holds 2 parts/,
      (save) => save.files.delete('__1_0.distcp'),
    ],
    [
      'with a link in place of a file is damaged',
      ['damaged', 'V1'],
      /File __1_0\.distcp is a link, which is not followed/,
      (save) => save.links.add('__1_0.distcp'),
    ],
    [
      'whose metadata names a file outside of it is damaged',
      ['damaged', 'V1'],
      /File \.\.\/_0\.distcp is outside of the save/,
      (save) => save.edit('.metadata', (bytes) => replaced(bytes, '__1_0.distcp', '../_0.distcp')),
    ],
    [
      'whose metadata is cut is damaged',
      ['damaged', 'V1'],
      /\.metadata cannot be read: byte \d+ wants/,
      (save) => save.edit('.metadata', (bytes) => bytes.subarray(0, 1000)),
    ],
    [
      'with another dtype in its metadata than in its bytes is damaged',
      ['damaged', 'V2'],
      /model\.columnMajor .* holds int32, and the save says int64/,
      (save) => save.edit('.metadata', (bytes) => replaced(bytes, '\u0005int32', '\u0005int64')),
    ],
    [
      'whose item was overwritten at its end is damaged',
      ['damaged', 'V2'],
      /does not end as an archive of torch\.save does/,
      (save) => save.edit('__0_0.distcp', (bytes) => bytes.fill(0, -22)),
    ],
    [
      'with an item whose records share bytes is damaged',
      ['damaged', 'V2'],
      /has records that are together larger than it is/,
      (save) => save.edit('__3_0.distcp', withLargestSize),
    ],
    [
      'with a flipped bit is damaged',
      ['damaged', 'V3'],
      /model\.both in __0_0\.distcp at byte 0 has other bytes in data\/0 than were saved/,
      (save) => save.edit('__0_0.distcp', (bytes) => bytes.fill((bytes[710] ?? 0) ^ 1, 710, 711)),
    ],
    [
      'with a file that its metadata does not name is unverifiable in part',
      ['unverifiable', 'V1'],
      /\.metadata does not name 1 files, such as common\.pt: nothing here reads them/,
      (save) => save.edit('common.pt', () => new Uint8Array(3)),
    ],
  ])('one %s', (_what, [verdict, level], sentence, change) => {
    const save = fixture();
    change(save);
    const found = look(save);
    expect(found.verdict).toBe(verdict);
    expect(found.findings).toEqual(
      expect.arrayContaining([{ level, kind: verdict, sentence: expect.stringMatching(sentence) as string }]),
    );
  });

  it('a look at the structure does not see a flipped bit, and does not say that it did', () => {
    const save = fixture();
    save.edit('__0_0.distcp', (bytes) => bytes.fill((bytes[710] ?? 0) ^ 1, 710, 711));
    expect(look(save, 'V2').verdict).toBe('sound');
  });
});

describe('a folder that is no checkpoint', () => {
  it('is unverifiable, and says so', () => {
    const save = fixture();
    save.files.delete('.metadata');
    save.edit('notes.txt', () => new Uint8Array(3));
    for (const path of [...save.files.keys()]) if (path.endsWith('.distcp')) save.files.delete(path);
    expect(look(save)).toMatchObject({ format: undefined, verdict: 'unverifiable' });
  });
});
