import { mkdtempSync, readdirSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { confirmFault, verifyCheckpoint, verifySuspect } from './checkpoint-verification.ts';
import type { SavedFact } from '../facts/engine-facts.ts';
import { aCheckpointIn, sha256 } from '../testing/a-checkpoint.ts';
import { CONTROL, CountingFiles, type Faults } from '../testing/counting-files.ts';

let saveDirectory: string;
let fact: SavedFact;
beforeEach(() => {
  saveDirectory = mkdtempSync(join(tmpdir(), 'coxswain-control-'));
  fact = aCheckpointIn(saveDirectory);
});
afterEach(() => rmSync(saveDirectory, { recursive: true, force: true }));

const inside = (name: string): string => join(saveDirectory, fact.directory, name);

/** Storage that reads a file short for a while: without an error, as some do in a failover. */
class ShortReads extends CountingFiles {
  /** Answers of the control, in order; the last one stays. */
  readonly #controls: readonly ('right' | 'wrong')[];

  constructor(controls: readonly ('right' | 'wrong')[]) {
    super();
    this.#controls = controls;
  }

  override async sizeOf(path: string): Promise<number | 'no regular file'> {
    await super.sizeOf(path);
    return 3;
  }

  override async writeAndReadBack(path: string, text: string): Promise<string> {
    const answer = this.#controls[Math.min(this.controls, this.#controls.length - 1)];
    const found = await super.writeAndReadBack(path, text);
    return answer === 'right' ? found : '';
  }
}

describe('a checkpoint is blamed only beside a control file that reads', () => {
  const at = () => ({ directory: inside(''), manifestSha256: fact.manifestSha256 });
  const kindOf = async (files: CountingFiles): Promise<string> => {
    const seen = await verifyCheckpoint(at(), { files });
    return seen.kind === 'verified' ? seen.kind : (seen.fault?.kind ?? 'no fault');
  };
  const cutOff = () => truncateSync(inside('rank-0.bin'), 7);
  const remove = () => unlinkSync(inside('rank-0.bin'));

  it.each<[string, () => void, Faults, string]>([
    ['content that differs is content, where the control reads', cutOff, {}, 'ContentDiffers'],
    ['content that differs is the mount, where the control does not read', cutOff, { [CONTROL]: 'EIO' }, 'MountBroken'],
    [
      'content that differs is the mount, where the control times out',
      cutOff,
      { [CONTROL]: 'ETIMEDOUT' },
      'MountBroken',
    ],
    ['content that differs proves nothing on a full disk', cutOff, { [CONTROL]: 'ENOSPC' }, 'FileUnreadable'],
    [
      'content that differs proves nothing on a mount that is read only',
      cutOff,
      { [CONTROL]: 'EROFS' },
      'FileUnreadable',
    ],
    ['a file that its directory does not list is content', remove, {}, 'ContentDiffers'],
    [
      'a file that is gone is the mount, where the control does not read',
      remove,
      { [CONTROL]: 'ESTALE' },
      'MountBroken',
    ],
    ['a read error is the file, where the control reads', () => undefined, { 'rank-0.bin': 'EIO' }, 'FileUnreadable'],
    [
      'a read error is the mount, where the control does not read, though the directory is listed from a cache',
      () => undefined,
      { 'rank-0.bin': 'EIO', [CONTROL]: 'EIO' },
      'MountBroken',
    ],
  ])('%s', async (_what, spoil, faults, want) => {
    spoil();
    expect(await kindOf(new CountingFiles(faults))).toBe(want);
  });

  it.each<[string, readonly ('right' | 'wrong')[], string]>([
    ['right before and after are content', ['right'], 'ContentDiffers'],
    ['wrong before are the mount', ['wrong', 'right'], 'MountBroken'],
    ['wrong after are the mount', ['right', 'wrong'], 'MountBroken'],
  ])('short reads between controls that are %s', async (_what, controls, want) => {
    expect(await kindOf(new ShortReads(controls))).toBe(want);
  });

  it('and a checkpoint that is well needs none, and none is left behind', async () => {
    const files = new CountingFiles();
    expect(await kindOf(files)).toBe('verified');
    expect(files.controls).toBe(0);
    cutOff();
    expect(await kindOf(files)).toBe('ContentDiffers');
    expect(files.controls).toBe(2);
    expect(readdirSync(saveDirectory)).toEqual([fact.directory]);
  });
});

describe('a fault that an engine reported', () => {
  type Fault = Parameters<typeof confirmFault>[1];
  const at = () => ({ directory: inside(''), manifestSha256: fact.manifestSha256 });
  const content: Fault = { kind: 'ContentDiffers', path: '', expected: 'SHA-256 a', found: 'SHA-256 b' };
  const unreadable: Fault = { kind: 'FileUnreadable', path: '', errno: 'EIO' };

  it.each<
    [
      string,
      {
        readonly isFlipped?: boolean;
        readonly reported: Fault;
        readonly faults?: Faults;
        readonly want: Partial<Fault>;
      },
    ]
  >([
    [
      'of a flipped bit is content that the launcher reads too',
      { isFlipped: true, reported: content, want: { kind: 'ContentDiffers', found: `SHA-256 ${sha256('12345679')}` } },
    ],
    [
      'of content that the launcher reads as it was saved is no proof',
      { reported: content, want: { kind: 'FileUnreadable', found: 'SHA-256 b' } },
    ],
    [
      'of content is the mount, where the control does not read',
      { isFlipped: true, reported: content, faults: { [CONTROL]: 'EIO' }, want: { kind: 'MountBroken' } },
    ],
    [
      'of a file that the manifest does not list is believed beside the control',
      { reported: { ...content, path: '/c/elsewhere' }, want: { kind: 'ContentDiffers', found: 'SHA-256 b' } },
    ],
    [
      'of a read error stays one, though the launcher reads the file',
      { reported: unreadable, want: { kind: 'FileUnreadable', errno: 'EIO' } },
    ],
    [
      'of a read error is the mount, where the control does not read',
      { reported: unreadable, faults: { [CONTROL]: 'EIO' }, want: { kind: 'MountBroken', errno: 'EIO' } },
    ],
  ])('%s', async (_what, { isFlipped = false, reported, faults = {}, want }) => {
    if (isFlipped) writeFileSync(inside('rank-0.bin'), '12345679');
    const path = reported.path === '' ? inside('rank-0.bin') : reported.path;
    expect(await confirmFault(at(), { ...reported, path }, new CountingFiles(faults))).toMatchObject(want);
  });
});

describe('a suspect checkpoint', () => {
  const at = () => ({ directory: inside(''), manifestSha256: fact.manifestSha256 });

  it.each<[string, () => void, Faults, string]>([
    ['verifies when all can be read again', () => undefined, {}, 'verified'],
    ['does not while a file in doubt cannot be read', () => undefined, { 'rank-0.bin': 'EIO' }, 'refused'],
    [
      'does not when the content of a file in doubt differs, though its size does not',
      () => writeFileSync(inside('rank-0.bin'), '12345679'),
      {},
      'refused',
    ],
    ['does not when another file is cut off', () => truncateSync(inside('rank-1.bin'), 7), {}, 'refused'],
  ])('%s', async (_what, spoil, faults, want) => {
    fact = aCheckpointIn(saveDirectory, 40, 2);
    spoil();
    expect((await verifySuspect(at(), [inside('rank-0.bin')], new CountingFiles(faults))).kind).toBe(want);
  });
});
