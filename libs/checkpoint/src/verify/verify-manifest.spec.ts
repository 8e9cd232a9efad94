import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { fixture } from '../testing/fixture.ts';
import { aManifest } from '../testing/index.ts';
import { MemorySave } from '../testing/memory-save.ts';
import type { Level } from './finding.ts';
import { type SaveLook, verifySave } from './verify-save.ts';

const sha256 = () => createHash('sha256');
const look = (save: MemorySave, level: Level = 'V3'): SaveLook =>
  save.run(verifySave(save.list(), { level, crc32, sha256 }));
const text = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value));

/** The save with a manifest of its files. */
function listed(save: MemorySave): MemorySave {
  const files = [...save.files].map(([path, bytes]) => ({
    path,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }));
  save.files.set('manifest.json', text(JSON.stringify(aManifest({ files }))));
  return save;
}

const ofRanks = (): MemorySave =>
  listed(new MemorySave({ 'rank-00000.bin': text('zero'), 'rank-00001.bin': text('one') }));

describe('a sound save with a manifest', () => {
  it('of a file for each rank is sound: the manifest shows its content', () => {
    expect(look(ofRanks())).toMatchObject({
      format: 'sleeper',
      verdict: 'sound',
      state: { facts: { step: 20, worldSize: 4, degrees: { tensorParallelDegree: 2, dataParallelDegree: 2 } } },
    });
  });

  it('of PyTorch is sound, and the manifest says its step', () => {
    expect(look(listed(fixture('dcp-2.15.0')))).toMatchObject({
      format: 'dcp',
      verdict: 'sound',
      state: { facts: { step: 20 } },
    });
  });

  it('of the Trainer is sound: the manifest has checksums of weights', () => {
    expect(look(listed(fixture('hugging-face-5.23.0/checkpoint-2')))).toMatchObject({
      verdict: 'sound',
      state: { facts: { step: 2, worldSize: 2 } },
    });
  });
});

describe('of a save with a manifest', () => {
  it.each<[what: string, found: [SaveLook['verdict'], Level], sentence: RegExp, change: (save: MemorySave) => void]>([
    [
      'without its manifest is incomplete',
      ['incomplete', 'V0'],
      /no manifest\.json: it was not finished/,
      (save) => save.files.delete('manifest.json'),
    ],
    [
      'without the file of a rank is incomplete',
      ['incomplete', 'V1'],
      /File rank-00001\.bin is not there; manifest\.json lists it/,
      (save) => save.files.delete('rank-00001.bin'),
    ],
    [
      'with the file of a stray rank is suspect',
      ['suspect', 'V1'],
      /1 files, such as rank-00007\.bin, are not in manifest\.json/,
      (save) => save.files.set('rank-00007.bin', text('x')),
    ],
    [
      'with a cut file is damaged',
      ['damaged', 'V1'],
      /File rank-00000\.bin has 2 bytes, and manifest\.json lists 4/,
      (save) => save.files.set('rank-00000.bin', text('ze')),
    ],
    [
      'with a link in place of a file is damaged',
      ['damaged', 'V1'],
      /File rank-00000\.bin is a link/,
      (save) => save.links.add('rank-00000.bin'),
    ],
    [
      'with a flipped bit is damaged',
      ['damaged', 'V3'],
      /File rank-00000\.bin has another SHA-256 than manifest\.json lists/,
      (save) => save.files.set('rank-00000.bin', text('zerp')),
    ],
    [
      'whose manifest is cut is damaged',
      ['damaged', 'V1'],
      /manifest\.json is no manifest of a checkpoint/,
      (save) => save.edit('manifest.json', (bytes) => bytes.subarray(0, -5)),
    ],
  ])('one %s', (_what, [verdict, level], sentence, change) => {
    const save = ofRanks();
    change(save);
    const found = look(save);
    expect(found.findings).toEqual([{ level, kind: verdict, sentence: expect.stringMatching(sentence) as string }]);
    expect(found.verdict).toBe(verdict);
  });

  it.each([
    ['PyTorch', 'dcp-2.15.0', '__1_0.distcp'],
    ['DeepSpeed', 'deepspeed-0.19.8/zero1/global_step2', 'bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt'],
    ['the Trainer', 'hugging-face-5.23.0/checkpoint-2', 'optimizer.pt'],
  ])('one of %s with a file of another save is damaged: its own CRC-32 are right', (_engine, name, shard) => {
    const save = listed(fixture(name));
    save.edit('manifest.json', (bytes) => {
      const manifest = JSON.parse(Buffer.from(bytes).toString()) as ReturnType<typeof aManifest>;
      const files = manifest.files.map((file) => (file.path === shard ? { ...file, sha256: 'e'.repeat(64) } : file));
      return text(JSON.stringify({ ...manifest, files }));
    });
    const sentence = `File ${shard} has another SHA-256 than manifest.json lists.`;
    expect(look(save).findings).toEqual([{ level: 'V3', kind: 'damaged', sentence }]);
  });

  it.each([
    ['PyTorch', 'dcp-2.15.0', '.metadata', 'dcp'],
    ['the Trainer', 'hugging-face-5.23.0/checkpoint-2', 'trainer_state.json', 'hugging-face'],
  ])(
    'one of %s without its marker is incomplete as V0 sees it, with and without the manifest',
    (...[, name, marker, format]) => {
      const save = listed(fixture(name));
      save.files.delete(marker);
      const unfinished = { format, verdict: 'incomplete', findings: [{ level: 'V0' }] };
      expect(look(save, 'V0')).toMatchObject(unfinished);
      save.files.delete('manifest.json');
      expect(look(save, 'V0')).toMatchObject(unfinished);
    },
  );

  it('one of PyTorch whose metadata was changed in place is damaged: no CRC-32 covers it', () => {
    const save = listed(fixture('dcp-2.15.0'));
    save.edit('.metadata', (bytes) => bytes.map((byte, at) => (at === bytes.length - 40 ? byte ^ 1 : byte)));
    expect(
      look(save)
        .findings.map(({ sentence }) => sentence)
        .join('\n'),
    ).toContain('.metadata has another SHA-256');
  });
});
