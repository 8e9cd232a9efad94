import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointFault } from '@coxswain/api-types';
import { fileListSha256, MANIFEST_FILE } from '@coxswain/checkpoint';
import { type CheckpointStore, openStore, StoreError } from '@coxswain/checkpoint-store';
import { MemoryStore } from '@coxswain/checkpoint-store/testing';
import { BucketSaves } from './bucket-saves.ts';

let directory: string;
let disk: CheckpointStore;
let bucket: FailingStore;
let sentences: string[];
let pausesMs: number[];
let saves: BucketSaves;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'bucket-saves-'));
  disk = await openStore(directory, {});
  bucket = new FailingStore({});
  sentences = [];
  pausesMs = [];
  saves = new BucketSaves({
    bucket,
    disk,
    logLine: (sentence) => sentences.push(sentence),
    pause: (ms) => Promise.resolve(void pausesMs.push(ms)),
    nowMs: () => 0,
  });
});
afterEach(() => rmSync(directory, { recursive: true }));

/** A bucket that answers so many requests with an error. */
class FailingStore extends MemoryStore {
  failures: StoreError[] = [];

  override list(folder?: string): ReturnType<MemoryStore['list']> {
    const failure = this.failures.shift();
    return failure === undefined ? super.list(folder) : Promise.reject(failure);
  }
}

function failures(times: number, kind: StoreError['kind'] = 'Unreachable'): StoreError[] {
  return Array.from({ length: times }, () => new StoreError(kind, 'memory does not answer.'));
}

/** Writes a save of one file to a store. */
async function aSave(step: number, store: CheckpointStore = disk): Promise<{ folder: string; manifestSha256: string }> {
  const folder = `tiny/epoch-1/step-${step}`;
  const content = Buffer.from(`weights of step ${step}`);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const manifest = JSON.stringify({
    formatVersion: 1,
    engine: 'reference',
    format: 'coxswain-reference',
    step,
    layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 },
    training: {},
    files: [{ path: 'rank-0.bin', bytes: content.length, sha256 }],
  });
  await store.write(`${folder}/rank-0.bin`, [content]);
  await store.write(`${folder}/${MANIFEST_FILE}`, [Buffer.from(manifest)]);
  return { folder, manifestSha256: createHash('sha256').update(manifest).digest('hex') };
}

it('downloads a save without a manifest by the list of its files, and only files that are not there', async () => {
  const folder = 'old/step-7';
  for (const [path, text] of [
    ['a', 'one'],
    ['sub/b', 'two'],
  ] as const)
    await bucket.write(`${folder}/${path}`, [Buffer.from(text)]);
  await disk.write(`${folder}/a`, [Buffer.from('ONE')]);
  const files = [
    { path: 'a', bytes: 3 },
    { path: 'sub/b', bytes: 3 },
  ];
  const filesSha256 = fileListSha256(files, createHash('sha256'));
  bucket.failures = failures(1);
  expect(await saves.download({ folder, filesSha256 })).toBeUndefined();
  expect(await pathsOnDisk()).toEqual([`${folder}/a`, `${folder}/sub/b`]);
  expect(Buffer.from(await disk.read(`${folder}/a`, 0, 9)).toString()).toBe('ONE');
  expect((await saves.download({ folder: 'old', filesSha256 }))?.fault).toMatchObject({ kind: 'ContentDiffers' });
});

async function pathsOnDisk(): Promise<readonly string[]> {
  return (await disk.list()).map(({ path }) => path).toSorted();
}

const { signal } = new AbortController();
const calmly = { isInHurry: () => false, signal };
const inHurry = { isInHurry: () => true, signal };

describe('an upload', () => {
  it('leaves the newest copy on the disk, and no older one', async () => {
    expect(await saves.upload(await aSave(10), calmly)).toBe(true);
    expect(await saves.upload(await aSave(20), calmly)).toBe(true);
    expect(await pathsOnDisk()).toEqual(['tiny/epoch-1/step-20/manifest.json', 'tiny/epoch-1/step-20/rank-0.bin']);
    expect([...bucket.files.keys()].filter((path) => path.endsWith(MANIFEST_FILE))).toHaveLength(2);
  });

  it('is tried again while the bucket does not answer, ever more slowly', async () => {
    bucket.failures = failures(8);
    expect(await saves.upload(await aSave(10), calmly)).toBe(true);
    expect(pausesMs).toEqual([1000, 2000, 4000, 8000, 15_000, 30_000, 30_000, 30_000]);
  });

  it('is given up after three tries where newer saves wait, and its copy makes room for them', async () => {
    bucket.failures = failures(3);
    expect(await saves.upload(await aSave(10), inHurry)).toBe(false);
    expect(await pathsOnDisk()).toEqual([]);
    expect(sentences.at(-1)).toBe(
      'Try 3 to upload memory/tiny/epoch-1/step-10 failed, and it is not reported: memory does not answer.',
    );
  });

  it('is ended where other ranks are to start in the pod, and the copy that they use stays', async () => {
    await saves.upload(await aSave(10), calmly);
    const restart = new AbortController();
    restart.abort(new Error('Other ranks are to start in this pod.'));
    const save = await aSave(20);
    expect(await saves.upload(save, { ...calmly, signal: restart.signal })).toBe(false);
    expect(await pathsOnDisk()).toEqual(['tiny/epoch-1/step-10/manifest.json', 'tiny/epoch-1/step-10/rank-0.bin']);
    expect([...bucket.files.keys()]).not.toContain(`${save.folder}/manifest.json`);
  });

  it('is not tried again if a file has changed since the manifest was written', async () => {
    const save = await aSave(10);
    await disk.write(`${save.folder}/rank-0.bin`, [Buffer.from('weights of step 11')]);
    expect(await saves.upload(save, calmly)).toBe(false);
    expect(pausesMs).toEqual([]);
  });
});

describe('a download', () => {
  it('brings the checkpoint to the disk, and a second one needs no bucket', async () => {
    const save = await aSave(10, bucket);
    expect(await saves.download(save)).toBeUndefined();
    bucket.failures = failures(1, 'NotFound');
    expect(await pathsOnDisk()).toEqual(['tiny/epoch-1/step-10/manifest.json', 'tiny/epoch-1/step-10/rank-0.bin']);
    expect(await saves.download(save)).toBeUndefined();
  });

  it('makes room once the next save is in the bucket', async () => {
    await saves.download(await aSave(10, bucket));
    await saves.upload(await aSave(20), calmly);
    expect(await pathsOnDisk()).toEqual(['tiny/epoch-1/step-20/manifest.json', 'tiny/epoch-1/step-20/rank-0.bin']);
  });

  it.each<[string, StoreError[], number]>([
    ['the bucket does not answer for a minute', failures(7), 6],
    ['access is denied for a minute', failures(7, 'AccessDenied'), 6],
    ['the bucket does not exist', failures(1, 'NotFound'), 0],
  ])('blames no checkpoint if %s', async (_what, all, pauses) => {
    const save = await aSave(10, bucket);
    bucket.failures = all;
    const problem = await saves.download(save);
    expect(problem?.why).toMatch(/^memory does not answer\./);
    expect(problem?.fault).toMatchObject({ kind: 'MountBroken', path: save.folder });
    expect(CheckpointFault.parse(problem?.fault)).toBeDefined();
    expect(pausesMs).toHaveLength(pauses);
  });

  it.each<[string, (folder: string) => void, object]>([
    [
      'other bytes',
      (folder) => bucket.files.set(`${folder}/rank-0.bin`, Buffer.from('weights of step 11')),
      { kind: 'ContentDiffers', found: expect.stringMatching(/^SHA-256 /) as string },
    ],
    [
      'no such file',
      (folder) => bucket.files.delete(`${folder}/rank-0.bin`),
      { kind: 'ContentDiffers', expected: '18 bytes', found: 'no file' },
    ],
  ])('is evidence on the checkpoint if the bucket has %s', async (_what, change, fault) => {
    const save = await aSave(10, bucket);
    change(save.folder);
    expect(await saves.download(save)).toMatchObject({ fault });
  });

  it('blames the disk of the node if that is full', async () => {
    const full: CheckpointStore = {
      location: directory,
      isRemote: false,
      list: () => Promise.resolve([]),
      folders: () => Promise.resolve([]),
      read: () => Promise.resolve(new Uint8Array()),
      remove: () => Promise.resolve(),
      write: () =>
        Promise.reject(new StoreError('Other', `Cannot write x in ${directory}: the file system is full (ENOSPC).`)),
    };
    const onFullDisk = new BucketSaves({
      bucket,
      disk: full,
      logLine: () => undefined,
      pause: () => Promise.resolve(),
    });
    expect(await onFullDisk.download(await aSave(10, bucket))).toMatchObject({ fault: undefined });
  });
});

it('what earlier uploads left without a manifest is removed, and nothing else', async () => {
  const { folder } = await aSave(10, bucket);
  await bucket.write('tiny/epoch-0/step-5/.coxswain-upload', [Buffer.from('x')]);
  await bucket.write('tiny/epoch-0/step-5/rank-0.bin', [Buffer.from('half')]);
  await bucket.write('tiny/notes/of-a-user', [Buffer.from('keep')]);
  expect(await saves.removeHalfUploaded('tiny')).toEqual(['tiny/epoch-0/step-5']);
  expect([...bucket.files.keys()].toSorted()).toEqual([
    `${folder}/manifest.json`,
    `${folder}/rank-0.bin`,
    'tiny/notes/of-a-user',
  ]);
});
