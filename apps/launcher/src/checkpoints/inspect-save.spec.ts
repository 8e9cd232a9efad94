import { mkdtempSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointContents, CheckpointVerification, type VerificationLevel } from '@coxswain/api-types';
import { inspectSave, type SaveInspection } from './inspect-save.ts';
import { memoryRoom } from './memory-room.ts';
import { aCheckpointIn } from '../testing/a-checkpoint.ts';
import { aDcpCheckpointIn } from '../testing/a-dcp-checkpoint.ts';
import { CountingFiles } from '../testing/counting-files.ts';

let root: string;
let files: CountingFiles;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-inspect-'));
  files = new CountingFiles();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function inspect(spoil?: (path: string) => void, level: VerificationLevel = 'V1'): Promise<SaveInspection> {
  const { directory, manifestSha256 } = aDcpCheckpointIn(root, spoil);
  const checkpoint = { directory: join(root, directory), manifestSha256 };
  return await inspectSave(checkpoint, { level, by: 'Launcher', files, onAnswer: () => undefined });
}

const SHARD = '__1_0.distcp';

function flipByte(path: string): void {
  const bytes = readFileSync(path);
  // Inside the payload of the first record.
  bytes[710] = (bytes[710] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

it('finds a whole save sound, at once, and says what it holds', async () => {
  const { verification, contents } = await inspect();
  expect(CheckpointVerification.parse(verification)).toMatchObject({ level: 'V1', verdict: 'sound', findings: [] });
  // Files of PyTorch do not name step and ranks: the manifest does.
  expect(CheckpointContents.parse(contents)).toMatchObject({ tensors: 6, isResumable: false, step: 20, worldSize: 1 });
  expect([verification?.by, files.pauses]).toEqual(['Launcher', 0]);
});

it.each<[what: string, found: [VerificationLevel, verdict: string], message: RegExp, spoil: (path: string) => void]>([
  ['lacks a shard', ['V1', 'incomplete'], /__1_0\.distcp is not there/, (path) => rmSync(join(path, SHARD))],
  ['has a shard that is cut', ['V1', 'damaged'], /it is cut/, (path) => truncateSync(join(path, SHARD), 100)],
  [
    'has a link for a shard',
    ['V1', 'damaged'],
    /is a link/,
    (path) => {
      rmSync(join(path, SHARD));
      symlinkSync('__0_0.distcp', join(path, SHARD));
    },
  ],
  [
    'has metadata that is cut',
    ['V1', 'damaged'],
    /cannot be read/,
    (path) => truncateSync(join(path, '.metadata'), 500),
  ],
  ['has a flipped bit', ['V3', 'damaged'], /CRC-32/, (path) => flipByte(join(path, SHARD))],
])(
  'a save that %s is found so at %s, after it was read three times',
  async (_what, [level, verdict], message, spoil) => {
    const { verification } = await inspect(spoil, level);
    expect(verification).toMatchObject({ verdict });
    expect(verification?.findings[0]?.message).toMatch(message);
    expect(files.pauses).toBe(2);
  },
);

it('gives no verdict where the manifest no longer reads right after the save was found broken', async () => {
  const { directory, manifestSha256 } = aDcpCheckpointIn(root, (path) => rmSync(join(path, SHARD)));
  const checkpoint = { directory: join(root, directory), manifestSha256 };
  const manifest = join(checkpoint.directory, 'manifest.json');
  let answers = 0;
  // The last answer before the manifest is read once more.
  const onAnswer = (): void => {
    answers += 1;
    if (files.pauses === 2) writeFileSync(manifest, 'x');
  };
  await expect(inspectSave(checkpoint, { level: 'V1', by: 'Worker', files, onAnswer })).rejects.toThrow(/manifest/);
  expect(answers).toBeGreaterThan(2);
});

it('says nothing of a format that no reader knows', async () => {
  const { directory, manifestSha256 } = aCheckpointIn(root);
  const checkpoint = { directory: join(root, directory), manifestSha256 };
  expect(await inspectSave(checkpoint, { level: 'V1', by: 'Launcher', files, onAnswer: () => undefined })).toEqual({});
});

describe('the memory that a container has left', () => {
  const cgroup = (max: string): string => {
    const path = join(root, 'cgroup');
    mkdirSync(path);
    writeFileSync(join(path, 'memory.max'), `${max}\n`);
    writeFileSync(join(path, 'memory.current'), '900\n');
    writeFileSync(join(path, 'memory.stat'), 'anon 100\ninactive_file 300\nactive_file 50\n');
    return path;
  };

  it('does not count what the page cache can give back', () => {
    expect(memoryRoom(cgroup('1000'))).toBe(400);
  });

  it('is unknown without a limit', () => {
    expect([memoryRoom(cgroup('max')), memoryRoom(join(root, 'none'))]).toEqual([undefined, undefined]);
  });
});
