/** A pod that converts a save of a bucket, as the operator orders it, against a real object store: it is killed between two pieces, and another one goes on. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConversionAnswer } from '@coxswain/api-types';
import { type CheckpointStore, openStore } from '@coxswain/checkpoint-store';
import { type ObjectStore, startObjectStore } from '@coxswain/test-harness';
import { convertCheckpoint } from '../checkpoints/convert-checkpoint.ts';
import { aDeepSpeedSave, aUniversalConverter } from '../testing/universal-converter.ts';
import { BucketSaves } from './bucket-saves.ts';
import { conversionInBucket } from './convert-in-bucket.ts';
import { verifyInBucket } from './verify-in-bucket.ts';

const SAVE = aDeepSpeedSave();
const SOURCE = 'run/epoch-1/global_step2';
const TARGET = `${SOURCE}.coxswain-converted/global_step2_universal`;

let objects: ObjectStore;
let root: string;
beforeAll(async () => {
  objects = await startObjectStore();
  root = mkdtempSync(join(tmpdir(), 'coxswain-bucket-conversion-'));
});
afterAll(async () => {
  await objects.stop();
  rmSync(root, { recursive: true });
});

let made = 0;
/** A prefix with the save. */
async function aBucket(): Promise<CheckpointStore> {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const bucket = await openStore(`s3://test/conversion-${String(++made)}`, { endpoint: objects.endpoint, credentials });
  for (const [path, bytes] of Object.entries(SAVE.files)) await bucket.write(`${SOURCE}/${path}`, [bytes]);
  return bucket;
}

/** What a pod does on a node whose disk is empty. It is killed before a write, after so many. */
async function convert(bucket: CheckpointStore, writes = Infinity): Promise<ConversionAnswer> {
  let left = writes;
  const spend = (): void => {
    if (left-- <= 0) throw new Error('killed');
  };
  const mortal: CheckpointStore = {
    location: bucket.location,
    isRemote: true,
    list: (folder) => bucket.list(folder),
    folders: (folder) => bucket.folders(folder),
    read: (...range) => bucket.read(...range),
    write: async (...file) => {
      spend();
      return await bucket.write(...file);
    },
    remove: async (paths) => {
      if (paths.length > 0) spend();
      await bucket.remove(paths);
    },
  };
  const order = { kind: 'DeepSpeedUniversal', source: SOURCE, target: TARGET, isInBucket: true };
  const disk = mkdtempSync(join(root, 'disk-'));
  return await convertCheckpoint(JSON.stringify({ ...order, manifestSha256: SAVE.manifestSha256 }), {
    nowMs: () => performance.now(),
    logLine: () => undefined,
    signal: new AbortController().signal,
    environment: {},
    universalConverter: aUniversalConverter(root),
    inBucket: conversionInBucket(() => Promise.resolve(mortal), { disk }),
  });
}

it.each([
  ['before its first write', 0],
  ['between two files', 6],
  ['before the manifest', 17],
  ['before it removes its mark', 18],
])('is killed %s, and the next pod publishes a save that a job downloads', async (_when, writes) => {
  const bucket = await aBucket();
  expect((await convert(bucket, writes)).state).toBe('Failed');
  const before = (await bucket.list(TARGET)).map(({ path }) => path);
  expect(before.includes(`${TARGET}/manifest.json`)).toBe(writes === 18);
  const { state, manifestSha256 = '' } = await convert(bucket);
  const { verification } = await verifyInBucket(
    bucket,
    { directory: `/coxswain/checkpoints/${TARGET}` },
    { level: 'V3' },
  );
  expect([state, verification?.verdict, verification?.findings]).toEqual(['Converted', 'sound', []]);
  const disk = await openStore(mkdtempSync(join(root, 'node-')), {});
  const saves = new BucketSaves({ bucket, disk, logLine: () => undefined });
  expect(await saves.download({ folder: TARGET, manifestSha256 })).toBeUndefined();
  expect((await bucket.list()).filter(({ path }) => path.endsWith('.coxswain-upload'))).toEqual([]);
});
