import { createHash } from 'node:crypto';
import { halfUploadedSaves, MANIFEST_FILE, type SavePart } from '@coxswain/checkpoint';
import { deleteSave } from '../pruning/delete-save.ts';
import { Killed, MemoryStore } from '../testing/memory-store.ts';
import { copySave } from './copy-save.ts';
import {
  calledSaves,
  callForParts,
  endCall,
  leftByUploads,
  PartsDiffer,
  publishParts,
  readParts,
  uploadPart,
} from './save-parts.ts';

const CALL = { saveDirectory: 'tiny/epoch-1', directory: 'step-10' };
const FOLDER = 'tiny/epoch-1/step-10';
const ON_NODES = [
  { ranks: '0-1', firstRank: 0, files: { '__0_0.distcp': 'rank 0', '.metadata': 'all' } },
  { ranks: '2-3', firstRank: 2, files: { '__2_0.distcp': 'rank 2', 'deep/__3_0.distcp': 'rank 3' } },
];
const WORLD = { folder: FOLDER, worldSize: 4 };

type Node = (typeof ON_NODES)[number] | { ranks: string; firstRank: number; files: Record<string, string> };

async function upload(bucket: MemoryStore, { files, ...pod }: Node): Promise<void> {
  const disk = new MemoryStore(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`${FOLDER}/${path}`, Buffer.from(text)])),
  );
  const listed = Object.entries(files).map(([path, text]) => ({ path, bytes: text.length }));
  const uploaded = new Map<string, SavePart['files'][number]>();
  await uploadPart({ folder: FOLDER, ...pod, files: listed }, { from: disk, to: bucket, uploaded });
}

/** Both pods, one after the other; `order`: which one comes first. */
async function saveTogether(bucket: MemoryStore, order: readonly number[] = [0, 1]): Promise<void> {
  await callForParts(bucket, CALL);
  for (const index of order) await upload(bucket, ON_NODES[index] as Node);
  const { merged } = await readParts(bucket, WORLD);
  if (merged.kind !== 'whole') throw new Error('not whole');
  await publishParts(bucket, FOLDER, JSON.stringify({ formatVersion: 1, files: merged.files }));
  await endCall(bucket, CALL);
}

const PUBLISHED = ['.metadata', '__0_0.distcp', '__2_0.distcp', 'deep/__3_0.distcp', MANIFEST_FILE].map(
  (path) => `${FOLDER}/${path}`,
);
/** Marker, call, four files, two lists, manifest, and the end of lists, marker and call. */
const WRITES = 2 + 4 + 2 + 1 + 4;

describe('a save of two pods that share no disk', () => {
  it.each([[[0, 1]], [[1, 0]]])('is published with the files of both, which upload in the order %j', async (order) => {
    const bucket = new MemoryStore({});
    await saveTogether(bucket, order);
    expect([...bucket.files.keys()].toSorted()).toEqual(PUBLISHED);
    const manifest = JSON.parse(Buffer.from(bucket.files.get(`${FOLDER}/${MANIFEST_FILE}`) ?? '').toString()) as {
      files: SavePart['files'];
    };
    const sha256 = createHash('sha256').update('rank 3').digest('hex');
    expect(manifest.files).toHaveLength(4);
    expect(manifest.files).toContainEqual({ path: 'deep/__3_0.distcp', bytes: 6, sha256 });
  });

  it.each(Array.from({ length: WRITES }, (_, writes) => writes))(
    'is whole or marked as half-uploaded where all pods end after %i writes, and the next start leaves nothing else',
    async (writes) => {
      const bucket = new MemoryStore({});
      bucket.writesLeft = writes;
      await expect(saveTogether(bucket)).rejects.toThrow(Killed);
      const files = await bucket.list();
      const isWhole = PUBLISHED.every((path) => bucket.files.has(path));
      expect(bucket.files.has(`${FOLDER}/${MANIFEST_FILE}`)).toBe(isWhole);
      const half = halfUploadedSaves(files).map(({ folder }) => folder);
      expect(half).toEqual(writes === 0 || isWhole ? [] : [FOLDER]);
      expect(await calledSaves(bucket, CALL.saveDirectory)).toEqual(writes <= 1 ? [] : ['step-10']);
      bucket.writesLeft = Infinity;
      await bucket.remove(leftByUploads(files));
      for (const save of halfUploadedSaves(files)) await deleteSave(bucket, save.folder, save.paths);
      expect([...bucket.files.keys()].toSorted()).toEqual(isWhole ? PUBLISHED : []);
    },
  );

  it('waits for the ranks of a pod that has uploaded files and no list', async () => {
    const bucket = new MemoryStore({});
    await upload(bucket, ON_NODES[0] as Node);
    await bucket.write(`${FOLDER}/__2_0.distcp`, [Buffer.from('rank 2')]);
    expect(await readParts(bucket, WORLD)).toMatchObject({ merged: { kind: 'waiting', ranks: '2-3' }, listed: 4 });
  });

  it('counts a pod whose ranks write nothing', async () => {
    const bucket = new MemoryStore({});
    await upload(bucket, ON_NODES[0] as Node);
    await upload(bucket, { ranks: '2-3', firstRank: 2, files: {} });
    expect(await readParts(bucket, WORLD)).toMatchObject({ merged: { kind: 'whole', files: { length: 2 } } });
  });

  it.each<[string, string, object]>([
    ['other bytes', 'rank 9', { rejects: true }],
    ['the same bytes', 'rank 0', { rejects: false }],
  ])(
    'two pods may not write one path with other bytes: %s',
    async (_what, text, { rejects }: { rejects?: boolean }) => {
      const bucket = new MemoryStore({});
      await upload(bucket, ON_NODES[0] as Node);
      await upload(bucket, { ranks: '2-3', firstRank: 2, files: { '__0_0.distcp': text } });
      const read = readParts(bucket, WORLD);
      if (rejects === true) {
        const error = new PartsDiffer('__0_0.distcp', ['0-1', '2-3']);
        await expect(read).rejects.toThrow(error.message);
        expect(error.message).toBe('__0_0.distcp was saved by ranks 0-1 and by ranks 2-3, with other bytes');
      } else expect(await read).toMatchObject({ merged: { kind: 'whole' } });
    },
  );

  it('is not whole if a listed file is gone, or has another size', async () => {
    const bucket = new MemoryStore({});
    for (const node of ON_NODES) await upload(bucket, node);
    bucket.files.delete(`${FOLDER}/__2_0.distcp`);
    await expect(readParts(bucket, WORLD)).rejects.toThrow('lacks: __2_0.distcp is not there');
    bucket.files.set(`${FOLDER}/__2_0.distcp`, Buffer.from('r'));
    await expect(readParts(bucket, WORLD)).rejects.toThrow('__2_0.distcp has 1 bytes, not 6');
  });

  it('never replaces a published save of other content', async () => {
    const bucket = new MemoryStore({ [`${FOLDER}/${MANIFEST_FILE}`]: Buffer.from('{}') });
    await expect(publishParts(bucket, FOLDER, '{"a":1}')).rejects.toThrow(/manifest\.json in memory has SHA-256/);
    expect(Buffer.from(bucket.files.get(`${FOLDER}/${MANIFEST_FILE}`) ?? '').toString()).toBe('{}');
  });

  it('does not use a list that changed since for one that it has read', async () => {
    const bucket = new MemoryStore({});
    await upload(bucket, ON_NODES[0] as Node);
    const read = new Map<string, SavePart>();
    await readParts(bucket, WORLD, read);
    await upload(bucket, ON_NODES[1] as Node);
    expect(await readParts(bucket, WORLD, read)).toMatchObject({ merged: { kind: 'whole' } });
  });
});

it('a copy takes nothing from parts that were left, although names and sizes are the same', async () => {
  const bucket = new MemoryStore({});
  await callForParts(bucket, CALL);
  await bucket.write(`${FOLDER}/rank-0.bin`, [Buffer.from('xxxxxx')]);
  const content = Buffer.from('rank 0');
  const manifest = JSON.stringify({
    formatVersion: 1,
    engine: 'reference',
    format: 'torch_dcp',
    step: 10,
    layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 },
    training: {},
    files: [{ path: 'rank-0.bin', bytes: 6, sha256: createHash('sha256').update(content).digest('hex') }],
  });
  const from = new MemoryStore({
    [`${FOLDER}/rank-0.bin`]: content,
    [`${FOLDER}/${MANIFEST_FILE}`]: Buffer.from(manifest),
  });
  const manifestSha256 = createHash('sha256').update(manifest).digest('hex');
  await copySave({ folder: FOLDER, manifestSha256 }, { from, to: bucket });
  expect(Buffer.from(bucket.files.get(`${FOLDER}/rank-0.bin`) ?? '').toString()).toBe('rank 0');
});
