import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyCheckpoint, verifySaved } from './checkpoint-verification.ts';
import { fileListOf } from './file-list.ts';
import type { SavedFact } from '../facts/engine-facts.ts';
import { aCheckpointIn, sha256 } from '../testing/a-checkpoint.ts';
import { CountingFiles, type Faults } from '../testing/counting-files.ts';

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
      why: 'the manifest has step 10, the engine reported 11',
    });
  });

  it.each<[string, () => void, RegExp]>([
    ['its directory does not exist', () => rmSync(inside(''), { recursive: true }), /cannot be read \(ENOENT\)/],
    ['it has no manifest', () => unlinkSync(inside('manifest.json')), /cannot be read \(ENOENT\)/],
    [
      'its manifest was changed',
      () => writeFileSync(inside('manifest.json'), '{}'),
      /has SHA-256 [0-9a-f]{64}, not SHA-256/,
    ],
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
    expect(await verifySaved(saveDirectory, fact)).toMatchObject({
      kind: 'refused',
      why: expect.stringMatching(why) as string,
    });
  });
});

describe('before a checkpoint is loaded', () => {
  const at = () => ({ directory: inside(''), manifestSha256: fact.manifestSha256 });
  const faulty = (faults: Faults = {}): CountingFiles => new CountingFiles(faults);

  it('it is looked at once when all is well', async () => {
    const files = faulty();
    expect(await verifyCheckpoint(at(), { files })).toMatchObject({ kind: 'verified', value: { files: 1 } });
    expect(files).toMatchObject({ opened: ['manifest.json', 'rank-0.bin'], pauses: 0 });
  });

  it.each<[string, () => void, Record<string, string>]>([
    [
      'a file that is cut off',
      () => truncateSync(inside('rank-0.bin'), 7),
      { path: 'rank-0.bin', expected: '8 bytes', found: '7 bytes' },
    ],
    [
      'a file that has grown',
      () => writeFileSync(inside('rank-0.bin'), '123456789'),
      { path: 'rank-0.bin', expected: '8 bytes', found: '9 bytes' },
    ],
    [
      'a directory in the place of a file',
      () => {
        unlinkSync(inside('rank-0.bin'));
        mkdirSync(inside('rank-0.bin'));
      },
      { path: 'rank-0.bin', expected: '8 bytes', found: 'no regular file' },
    ],
    [
      'a link in the place of a file',
      () => {
        unlinkSync(inside('rank-0.bin'));
        symlinkSync(inside('manifest.json'), inside('rank-0.bin'));
      },
      { path: 'rank-0.bin', expected: '8 bytes', found: 'no regular file' },
    ],
    [
      'a manifest that was changed',
      () => writeFileSync(inside('manifest.json'), '{}'),
      { path: 'manifest.json', found: `SHA-256 ${sha256('{}')}` },
    ],
  ])('%s is content that differs, with what was expected and what was found', async (_what, spoil, want) => {
    spoil();
    const seen = await verifyCheckpoint(at(), { files: faulty() });
    const path = inside(want['path'] ?? '');
    expect(seen).toMatchObject({ kind: 'refused', fault: { kind: 'ContentDiffers', ...want, path } });
    expect(seen).toMatchObject({ why: expect.stringContaining(path) as string });
  });

  it.each(['ENOENT', 'EIO', 'ESTALE', 'EACCES', 'ETIMEDOUT'])(
    '%s on a file is a file that cannot be read, while its directory can',
    async (errno) => {
      for (const name of ['rank-0.bin', 'manifest.json']) {
        expect(await verifyCheckpoint(at(), { files: faulty({ [name]: errno }) })).toEqual({
          kind: 'refused',
          why: `${inside(name)} cannot be read (${errno}), though its mount works`,
          fault: { kind: 'FileUnreadable', path: inside(name), errno },
        });
      }
    },
  );

  it.each(['EIO', 'ESTALE', 'ENOTCONN'])('%s on everything is a mount that does not work', async (errno) => {
    const seen = await verifyCheckpoint(at(), { files: faulty({ '': errno }) });
    expect(seen).toMatchObject({ fault: { kind: 'MountBroken', path: inside('manifest.json'), errno } });
  });

  it('a mount that is missing, so that nothing is there, is a mount that does not work', async () => {
    rmSync(saveDirectory, { recursive: true });
    mkdirSync(saveDirectory);
    const seen = await verifyCheckpoint(at(), { files: faulty() });
    expect(seen).toMatchObject({ fault: { kind: 'MountBroken', errno: 'ENOENT' } });
  });

  it('what was removed on a mount that works is a file that cannot be read', async () => {
    aCheckpointIn(saveDirectory, 20);
    rmSync(inside(''), { recursive: true });
    expect(await verifyCheckpoint(at(), { files: faulty() })).toMatchObject({
      fault: { kind: 'FileUnreadable', path: inside('manifest.json'), errno: 'ENOENT' },
    });
  });

  it('trouble that passes costs two pauses and no verdict', async () => {
    const files = faulty({ 'rank-0.bin': 'ESTALE' });
    files.healsAfterPauses = 2;
    expect(await verifyCheckpoint(at(), { files })).toMatchObject({ kind: 'verified' });
    expect(files.pauses).toBe(2);
  });

  it.each([
    ['not JSON', 'manifest', /is not JSON/],
    ['no manifest', '{"formatVersion":1}', /is no manifest/],
  ])(
    'a manifest that is %s, though its SHA-256 is right, is nobody’s fault but the reader’s',
    async (_what, text, why) => {
      writeFileSync(inside('manifest.json'), text);
      const seen = await verifyCheckpoint({ ...at(), manifestSha256: sha256(text) }, { files: faulty() });
      expect(seen).toEqual({ kind: 'refused', why: expect.stringMatching(why) as string });
    },
  );

  it('each pod of a gang looks at its own files alone, and together they look at each file once', async () => {
    const many = aCheckpointIn(saveDirectory, 30, 96);
    const pods = 8;
    const reads = await Promise.all(
      Array.from({ length: pods }, async (_, pod) => {
        const files = faulty();
        const seen = await verifyCheckpoint(
          { directory: join(saveDirectory, many.directory), manifestSha256: many.manifestSha256 },
          { files, ranks: { ranks: [0, 1, 2, 3].map((rank) => pod * 4 + rank), worldSize: 4 * pods } },
        );
        expect(seen).toMatchObject({ kind: 'verified', value: { files: 12 } });
        return files.opened.filter((name) => name !== 'manifest.json');
      }),
    );
    expect(reads.map((names) => names.length)).toEqual(Array.from({ length: pods }, () => 12));
    expect(new Set(reads.flat()).size).toBe(96);
  });
});

describe('a checkpoint without a manifest, whose list of files is known', () => {
  it.each<[what: string, change: () => void, want: RegExp | undefined]>([
    ['no file changed', () => undefined, undefined],
    ['a file was added', () => writeFileSync(inside('more'), 'x'), /has SHA-256|SHA-256/],
    ['a file is gone', () => unlinkSync(inside('rank-0.bin')), /SHA-256/],
    ['a file is cut off', () => truncateSync(inside('rank-0.bin'), 7), /SHA-256/],
  ])('is resumed from only if %s', async (_what, change, want) => {
    unlinkSync(inside('manifest.json'));
    const filesSha256 = await fileListOf(inside(''));
    change();
    const files = new CountingFiles({});
    const seen = await verifyCheckpoint(
      { directory: inside(''), manifestSha256: '0'.repeat(64), filesSha256 },
      { files },
    );
    expect(seen.kind === 'refused' ? seen.why : undefined).toEqual(
      want === undefined ? undefined : expect.stringMatching(want),
    );
  });
});
