import { crc32 } from 'node:zlib';
import { fixtureSave } from '../../bench/fixture-save.ts';
import type { MemorySave } from '../testing/memory-save.ts';
import type { Level } from './finding.ts';
import { type SaveLook, verifySave } from './verify-save.ts';

const look = (save: MemorySave, level: Level = 'V3'): SaveLook => save.run(verifySave(save.list(), { level, crc32 }));

/** Replaces the first occurrence of some bytes by as many, so that the pickle stays one. */
function replaceFirst(save: MemorySave, path: string, from: string, to: string): void {
  save.edit(path, (bytes) => {
    const latin = Buffer.from(bytes).toString('latin1');
    expect([latin.includes(from), to.length]).toEqual([true, from.length]);
    return Uint8Array.from(
      Buffer.from(
        latin.replace(from, () => to),
        'latin1',
      ),
    );
  });
}

/** Bytes at a place in a file. */
function overwrite(save: MemorySave, path: string, at: number, ...bytes: readonly number[]): void {
  save.edit(path, (file) => {
    file.set(bytes, at);
    return file;
  });
}

/** Where the directory's record of `data/0` begins in the first item of a file. */
function directoryRecord(save: MemorySave, path: string): number {
  const latin = Buffer.from(save.files.get(path) ?? []).toString('latin1');
  const name = latin.indexOf('/data/0', latin.indexOf('PK\x01\x02'));
  return latin.lastIndexOf('PK\x01\x02', name);
}

/** Exchanges the bytes of the first two chunks of a tensor. */
function swapChunks(save: MemorySave): void {
  const [one, other] = look(save, 'V1').state?.tensors[0]?.chunks.map(({ item }) => item) ?? [];
  if (one?.length === undefined || other?.length !== one.length) throw new Error('The chunks are not of one length.');
  const bytesOf = (item: typeof one): readonly number[] =>
    [...(save.files.get(item.file) ?? [])].slice(item.offset, item.offset + item.length);
  const [first, second] = [bytesOf(one), bytesOf(other)];
  overwrite(save, one.file, one.offset, ...second);
  overwrite(save, other.file, other.offset, ...first);
}

describe('a sound save of PyTorch', () => {
  it.each([
    ['with odd tensors, of the release before strides', 'dcp-odd-tensors-2.13.0', 'sound'],
    ['with odd tensors', 'dcp-odd-tensors-2.15.0', 'sound'],
    ['with a file for each item', 'dcp-file-per-item-2.15.0', 'sound'],
    ['in compressed items: its content is not read', 'dcp-zstd-2.15.0', 'unverifiable'],
    ['without CRCs: nothing shows whether its content is right', 'dcp-no-crc-2.15.0', 'unverifiable'],
    ['in safetensors of each rank', 'dcp-safetensors-2.15.0', 'unverifiable'],
    ['in safetensors made whole', 'dcp-safetensors-consolidated-2.15.0', 'unverifiable'],
  ])('%s (%s) is %s', (_what, name, verdict) => {
    expect(look(fixtureSave(name)).verdict).toBe(verdict);
  });

  it.each(['dcp-odd-tensors-2.13.0', 'dcp-odd-tensors-2.15.0'])('has its tensors as they were: %s', (name) => {
    const tensors = new Map(look(fixtureSave(name), 'V1').state?.tensors.map((tensor) => [tensor.key, tensor]));
    expect([...tensors.values()].map(({ dtype }) => dtype)).toEqual(
      expect.arrayContaining(['bool', 'float8_e4m3fn', 'float8_e5m2', 'uint16', 'int64', 'complex64', 'bfloat16']),
    );
    expect([...tensors.keys()]).toEqual(expect.arrayContaining(['größe.层.🧭', `long.${'x'.repeat(300)}`]));
    expect(tensors.get('none')?.shape).toEqual([0, 4]);
    expect(tensors.get('emptyShards')?.chunks.map(({ sizes }) => sizes[0])).toEqual([1, 1, 0]);
    // Ranks of one tensor-parallel group follow each other, and their rows do not.
    expect(tensors.get('stridedRows')?.chunks.map(({ offsets }) => offsets[0])).toEqual([0, 49, 25, 74]);
  });
});

describe('a damaged save of PyTorch is found, and where', () => {
  type Damage = (save: MemorySave) => unknown;
  it.each<[what: string, found: [SaveLook['verdict'], Level], sentence: RegExp, damage: Damage]>([
    ['no metadata', ['incomplete', 'V0'], /no \.metadata/, (save) => save.files.delete('.metadata')],
    ['empty metadata', ['damaged', 'V1'], /cannot be read/, (save) => save.edit('.metadata', () => new Uint8Array())],
    [
      'metadata that is cut',
      ['damaged', 'V1'],
      /cannot be read: byte \d+ wants/,
      (save) => save.edit('.metadata', (bytes) => bytes.subarray(0, -9)),
    ],
    ['metadata that is a link', ['damaged', 'V0'], /\.metadata is a link/, (save) => save.links.add('.metadata')],
    [
      'a missing shard',
      ['incomplete', 'V1'],
      /File __2_0\.distcp is not there/,
      (save) => save.files.delete('__2_0.distcp'),
    ],
    [
      'a shard that is a link',
      ['damaged', 'V1'],
      /File __2_0\.distcp is a link/,
      (save) => save.links.add('__2_0.distcp'),
    ],
    [
      'a shard that is cut',
      ['damaged', 'V1'],
      /File __2_0\.distcp has \d+ bytes, .* it is cut/,
      (save) => save.edit('__2_0.distcp', (bytes) => bytes.subarray(0, -1)),
    ],
    [
      'an empty shard',
      ['damaged', 'V1'],
      /File __2_0\.distcp has 0 bytes/,
      (save) => save.edit('__2_0.distcp', () => new Uint8Array()),
    ],
    [
      'a shard newer than the metadata: a step over another one',
      ['suspect', 'V0'],
      /such as __2_0\.distcp, were written after \.metadata/,
      (save) => save.writtenMs.set('__2_0.distcp', 60_000),
    ],
    [
      'a shard of a rank that did not save',
      ['suspect', 'V1'],
      /does not name 1 files, such as __7_0\.distcp: two saves can be mixed/,
      (save) => save.edit('__7_0.distcp', () => new Uint8Array(9)),
    ],
    [
      'a path out of the save',
      ['damaged', 'V1'],
      /File \.\.\/x0\.distcp is outside of the save/,
      (save) => replaceFirst(save, '.metadata', '__2_0.distcp', '../x0.distcp'),
    ],
    [
      'an absolute path',
      ['damaged', 'V1'],
      /File \/_2_0\.distcp is outside of the save/,
      (save) => replaceFirst(save, '.metadata', '__2_0.distcp', '/_2_0.distcp'),
    ],
    [
      'a hole',
      ['damaged', 'V1'],
      /Tensor model\.both lacks 6 of its 78 elements/,
      (save) => replaceFirst(save, '.metadata', 'K\x0cK\x06\x86', 'K\x0dK\x06\x86'),
    ],
    [
      'an overlap',
      ['damaged', 'V1'],
      /Tensor model\.both has chunks at \[0, 0\] and \[6, 0\] that overlap/,
      (save) => replaceFirst(save, '.metadata', 'K\x06K\x03\x86', 'K\x07K\x03\x86'),
    ],
    [
      'a chunk outside of its tensor',
      ['damaged', 'V1'],
      /Tensor model\.both has a chunk at \[0, 0\] of size \[6, 9\], which is outside of its shape/,
      (save) => replaceFirst(save, '.metadata', 'K\x06K\x03\x86', 'K\x06K\x09\x86'),
    ],
    [
      'metadata of a newer pickle protocol, which shows no damage',
      ['unverifiable', 'V1'],
      /protocol 6; protocols 0 to 5 are read/,
      (save) => overwrite(save, '.metadata', 1, 6),
    ],
    [
      'another class of PyTorch in place of the metadata, which shows no damage',
      ['unverifiable', 'V1'],
      /something else where .*Metadata belongs: torch\..*\.Metadatb/,
      (save) => replaceFirst(save, '.metadata', '\x08Metadata', '\x08Metadatb'),
    ],
    [
      'a class of another package in place of the metadata',
      ['damaged', 'V1'],
      /something else where .*Metadata belongs\.$/,
      (save) =>
        replaceFirst(
          save,
          '.metadata',
          'torch.distributed.checkpoint.metadata',
          'march.distributed.checkpoint.metadata',
        ),
    ],
    [
      'another dtype in the metadata than in the payload',
      ['damaged', 'V2'],
      /columnMajor .* holds int32, and the save says uint8/,
      (save) => replaceFirst(save, '.metadata', '\x05int32', '\x05uint8'),
    ],
    [
      'an item whose end was overwritten',
      ['damaged', 'V2'],
      /model\.both in __0_0\.distcp at byte 0 .* does not|does not end as an archive/,
      (save) => save.edit('__0_0.distcp', (bytes) => bytes.fill(0, -22)),
    ],
    [
      'a compressed record, whatever it would become',
      ['damaged', 'V2'],
      /__0_0\.distcp at byte 0 has a compressed record data\/0/,
      (save) => overwrite(save, '__0_0.distcp', directoryRecord(save, '__0_0.distcp') + 10, 8),
    ],
    [
      'a flipped bit',
      ['damaged', 'V3'],
      /model\.both in __0_0\.distcp at byte 0 has other bytes in data\/0 than were saved/,
      (save) => overwrite(save, '__0_0.distcp', 710, (save.files.get('__0_0.distcp')?.[710] ?? 0) ^ 1),
    ],
    [
      'a wrong CRC alone',
      ['damaged', 'V3'],
      /__0_0\.distcp at byte 0 has other bytes in data\/0 than were saved/,
      (save) => overwrite(save, '__0_0.distcp', directoryRecord(save, '__0_0.distcp') + 16, 1, 2, 3, 4),
    ],
  ])('%s', (_what, [verdict, level], sentence, damage) => {
    const save = fixtureSave('dcp-2.15.0');
    damage(save);
    const found = look(save);
    expect(found.findings).toEqual(
      expect.arrayContaining([{ level, kind: verdict, sentence: expect.stringMatching(sentence) as string }]),
    );
    expect(found.verdict).toBe(verdict);
  });

  it('two chunks of one shape that changed places are not found: nothing in the save shows it', () => {
    const save = fixtureSave('dcp-2.15.0');
    swapChunks(save);
    expect(look(save).verdict).toBe('sound');
  });

  it.each<[what: string, verdict: SaveLook['verdict'], sentence: RegExp, damage: Damage]>([
    [
      'without a part of a tensor is incomplete',
      'incomplete',
      /Tensor model\.columns lacks 16 of its 32 elements/,
      (save) => save.files.delete('shard-00003-model-00001-of-00001.safetensors'),
    ],
    [
      'without a file in the middle is suspect, even if no tensor has a hole',
      'suspect',
      /No file of shard 2 is here, and one of shard 3 is/,
      (save) => save.files.delete('shard-00002-model-00001-of-00001.safetensors'),
    ],
    [
      'without the last file is what it was: nothing says how large a tensor is',
      'unverifiable',
      /whether the last ranks’ files are there is not known/,
      (save) => save.files.delete('shard-00004-model-00001-of-00001.safetensors'),
    ],
    [
      'with a file that is cut is damaged',
      'damaged',
      /File shard-00001-model-00001-of-00001\.safetensors/,
      (save) => save.edit('shard-00001-model-00001-of-00001.safetensors', (bytes) => bytes.subarray(0, -1)),
    ],
  ])('safetensors that ranks wrote, %s', (_what, verdict, sentence, damage) => {
    const save = fixtureSave('dcp-safetensors-2.15.0');
    damage(save);
    const found = look(save);
    expect([found.verdict, found.findings.map((finding) => finding.sentence).join(' ')]).toEqual([
      verdict,
      expect.stringMatching(sentence),
    ]);
  });
});

describe('metadata of a sound save of PyTorch', () => {
  const save = fixtureSave('dcp-2.15.0');
  const metadata = save.files.get('.metadata')?.length ?? 0;
  const lookUpTo = (maxMetadataBytes: number): SaveLook =>
    save.run(verifySave(save.list(), { level: 'V1', crc32, maxMetadataBytes }));

  it('is read if it is as large as allowed', () => {
    expect(lookUpTo(metadata).verdict).toBe('sound');
  });

  it('that is larger is not called damaged, and who reads it is named', () => {
    const { verdict, findings } = lookUpTo(metadata - 1);
    expect([verdict, findings[0]?.sentence]).toEqual([
      'unverifiable',
      expect.stringMatching(
        /^\.metadata has \d+ bytes, and at most \d+ are read here\. "coxswain checkpoint" reads it, where it has 4 GB of memory\./,
      ),
    ]);
  });
});
