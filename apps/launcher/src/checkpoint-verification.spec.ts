import { mkdtempSync, rmSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyCheckpoint, verifySaved } from './checkpoint-verification.ts';
import type { SavedFact } from './engine-facts.ts';
import { aCheckpointIn, sha256 } from './testing/a-checkpoint.ts';

let saveDirectory: string;
let fact: SavedFact;
beforeEach(() => {
  saveDirectory = mkdtempSync(join(tmpdir(), 'coxswain-checkpoint-'));
  fact = aCheckpointIn(saveDirectory);
});
afterEach(() => rmSync(saveDirectory, { recursive: true, force: true }));

const inside = (name: string): string => join(saveDirectory, fact.directory, name);

describe('a checkpoint that an engine claims', () => {
  it('is reported with sizes as they are on disk, whatever the engine said of them', async () => {
    expect(await verifySaved(saveDirectory, { ...fact, bytes: 999, files: 999 })).toEqual({
      kind: 'verified',
      value: {
        step: 10,
        directory: 'step-00000010',
        format: 'sleeper',
        bytes: 8,
        files: 1,
        manifestSha256: fact.manifestSha256,
      },
    });
  });

  it('is refused when its manifest is of another step', async () => {
    expect(await verifySaved(saveDirectory, { ...fact, step: 11 })).toEqual({
      kind: 'refused',
      why: 'the manifest says step 10, the engine said 11',
    });
  });

  it.each<[string, () => void, RegExp]>([
    ['its directory does not exist', () => rmSync(inside(''), { recursive: true }), /cannot be read: .*ENOENT/],
    ['it has no manifest', () => unlinkSync(inside('manifest.json')), /cannot be read: .*ENOENT/],
    ['its manifest was changed', () => writeFileSync(inside('manifest.json'), '{}'), /has SHA-256 [0-9a-f]{64}, not/],
    ['a file is missing', () => unlinkSync(inside('rank-0.bin')), /rank-0\.bin/],
    ['a file is cut off', () => truncateSync(inside('rank-0.bin'), 7), /rank-0\.bin/],
    [
      'a file is a link that leads elsewhere',
      () => {
        unlinkSync(inside('rank-0.bin'));
        writeFileSync(join(saveDirectory, 'elsewhere'), '12345678');
        symlinkSync(join(saveDirectory, 'elsewhere'), inside('rank-0.bin'));
      },
      /rank-0\.bin/,
    ],
  ])('is refused when %s', async (_what, spoil, why) => {
    spoil();
    expect(await verifySaved(saveDirectory, fact)).toEqual({
      kind: 'refused',
      why: expect.stringMatching(why) as string,
    });
  });

  it.each([
    ['not JSON', 'manifest', /is not JSON/],
    ['no manifest', '{"formatVersion":1}', /is no manifest/],
  ])('is refused when its manifest is %s, though the SHA-256 is right', async (_what, text, why) => {
    writeFileSync(inside('manifest.json'), text);
    const seen = await verifyCheckpoint(inside(''), sha256(text));
    expect(seen).toEqual({ kind: 'refused', why: expect.stringMatching(why) as string });
  });
});
