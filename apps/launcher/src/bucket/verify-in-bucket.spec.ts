import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreError } from '@coxswain/checkpoint-store';
import { MemoryStore } from '@coxswain/checkpoint-store/testing';
import { aDcpCheckpointIn } from '../testing/a-dcp-checkpoint.ts';
import { verifyInBucket } from './verify-in-bucket.ts';

type Level = 'V1' | 'V2' | 'V3';
const SHARD = 'run/step-20/__1_0.distcp';
const directory = '/coxswain/checkpoints/run/step-20';

class Bucket extends MemoryStore {
  override readonly isRemote = true as never;
  readBytes = 0;
  silent = 0;
  onList: () => void = () => undefined;

  override async list(folder?: string): ReturnType<MemoryStore['list']> {
    if (this.silent-- > 0) throw new StoreError('Unreachable', 'The store does not answer.');
    const listed = await super.list(folder);
    this.onList();
    return listed;
  }

  override async read(path: string, offset: number, length: number): Promise<Uint8Array> {
    const bytes = await super.read(path, offset, length);
    this.readBytes += bytes.length;
    return bytes;
  }
}

/** A save of two ranks, and another file beside it. */
function aSave(): { readonly bucket: Bucket; readonly manifestSha256: string } {
  const root = mkdtempSync(join(tmpdir(), 'coxswain-in-bucket-'));
  const { directory: name, manifestSha256 } = aDcpCheckpointIn(root);
  const files = readdirSync(join(root, name)).map((path) => [
    `run/step-20/${path}`,
    readFileSync(join(root, name, path)),
  ]);
  rmSync(root, { recursive: true });
  return { bucket: new Bucket({ ...Object.fromEntries(files), 'run/step-200/x': new Uint8Array(8) }), manifestSha256 };
}

const verified = (
  { bucket, manifestSha256 }: { readonly bucket: Bucket; readonly manifestSha256?: string },
  level: Level = 'V2',
): ReturnType<typeof verifyInBucket> =>
  verifyInBucket(bucket, { directory, manifestSha256 }, { level, pause: () => Promise.resolve() });

it('reads a save where it is, and its payload only if the level needs it', async () => {
  const save = aSave();
  const { verification, contents } = await verified(save, 'V1');
  expect([verification, contents]).toMatchObject([
    { level: 'V1', verdict: 'sound', by: 'Worker' },
    { tensors: 6, step: 20 },
  ]);
  expect((await verified(save, 'V3')).verification).toMatchObject({ level: 'V3', verdict: 'sound' });
});

it.each<[what: string, level: Level, verdict: string, spoil: (bucket: Bucket) => void]>([
  ['lacks a shard', 'V1', 'incomplete', ({ files }) => void files.delete(SHARD)],
  [
    'has a shard that is cut off',
    'V1',
    'damaged',
    ({ files }) => void files.set(SHARD, files.get(SHARD)?.slice(0, 100) as Uint8Array),
  ],
  ['has another byte', 'V3', 'damaged', ({ files }) => (files.get(SHARD) as Uint8Array).fill(1, 710, 711)],
])('finds a save that %s', async (_what, level, verdict, spoil) => {
  const save = aSave();
  spoil(save.bucket);
  expect((await verified(save, level)).verification?.verdict).toBe(verdict);
});

it.each<[what: string, why: RegExp, spoil: (save: ReturnType<typeof aSave>) => Parameters<typeof verified>[0]]>([
  [
    'its manifest is another one',
    /manifest\.json has SHA-256/,
    ({ bucket }) => ({ bucket, manifestSha256: 'f'.repeat(64) }),
  ],
  [
    'its manifest is gone',
    /has no manifest\.json/,
    (save) => {
      save.bucket.files.delete('run/step-20/manifest.json');
      return save;
    },
  ],
  [
    'the store does not answer for a minute',
    /does not answer/,
    (save) => {
      save.bucket.silent = 6;
      return save;
    },
  ],
  ['an adopted one has no object', /holds no object/, () => ({ bucket: new Bucket({}) })],
  [
    'an adopted one changes meanwhile',
    /changed while they were read/,
    ({ bucket }) => {
      let lists = 0;
      bucket.onList = () => void bucket.files.set(`run/step-20/more-${++lists}`, new Uint8Array(1));
      return { bucket };
    },
  ],
])('proves nothing if %s', async (_what, why, spoil) => {
  await expect(verified(spoil(aSave()))).rejects.toThrow(why);
});

it('waits for a store that restarts', async () => {
  const save = aSave();
  save.bucket.silent = 5;
  expect((await verified(save)).verification?.verdict).toBe('sound');
});

it('describes an adopted one with all of its files', async () => {
  const { bucket, manifestSha256 } = aSave();
  const { verification, files } = await verified({ bucket });
  expect([verification?.verdict, files]).toMatchObject(['sound', { count: bucket.files.size - 1, manifestSha256 }]);
});
