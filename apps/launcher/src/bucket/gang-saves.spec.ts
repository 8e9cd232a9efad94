import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointManifest, halfUploadedSaves, MANIFEST_FILE } from '@coxswain/checkpoint';
import { openStore } from '@coxswain/checkpoint-store';
import { MemoryStore } from '@coxswain/checkpoint-store/testing';
import { aLayout } from '@coxswain/layout/testing';
import type { SavedFact } from '../facts/engine-facts.ts';
import { sha256 } from '../testing/a-checkpoint.ts';
import { BucketSaves } from './bucket-saves.ts';
import { GangSaves, type PublishedSave, type SavingGang } from './gang-saves.ts';
import { PartUploader } from './part-uploader.ts';

const FIXTURE = join(import.meta.dirname, '../../../../libs/checkpoint/fixtures/dcp-2.15.0');
const SAVE_DIRECTORY = 'tiny/epoch-1';
const FOLDER = `${SAVE_DIRECTORY}/step-20`;
/** Files of PyTorch's save of four ranks, by the pod whose ranks wrote them. */
const FILES = [
  ['__0_0.distcp', '__1_0.distcp', '.metadata'],
  ['__2_0.distcp', '__3_0.distcp'],
];
const FACT: SavedFact = {
  kind: 'checkpointSaved',
  step: 20,
  directory: 'step-20',
  bytes: 1,
  files: 3,
  manifestSha256: '0'.repeat(64),
};
const GANG: SavingGang = {
  saveDirectory: SAVE_DIRECTORY,
  ranks: '0-1',
  worldSize: 4,
  engine: { format: 'dcp', savedBy: { engine: 'torchtitan', layout: aLayout({ dataParallelDegree: 4 }) } },
};

let root: string;
let bucket: MemoryStore;
let sentences: string[];
let broken: string[];
let nowMs: number;
/** What happens while the pod of rank 0 waits. */
let meanwhile: () => Promise<void>;
let leader: BucketSaves;
let other: PartUploader;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'gang-saves-'));
  bucket = new MemoryStore({});
  sentences = [];
  broken = [];
  nowMs = 0;
  for (const [node, files] of FILES.entries()) save(node, files, FOLDER);
  leader = await savesOn(0, async () => {
    nowMs += 1_000;
    await meanwhile();
  });
  other = await uploaderIn(SAVE_DIRECTORY);
  meanwhile = () => other.poll();
});
afterEach(() => rmSync(root, { recursive: true }));

function save(node: number, files: readonly string[], folder: string): void {
  mkdirSync(onDisk(node, folder), { recursive: true });
  for (const file of files) cpSync(join(FIXTURE, file), join(onDisk(node, folder), file));
}

function onDisk(node: number, path: string): string {
  return join(root, `disk-${node}`, path);
}

async function savesOn(node: number, pause: () => Promise<void>): Promise<BucketSaves> {
  mkdirSync(onDisk(node, ''), { recursive: true });
  const disk = await openStore(onDisk(node, ''), {});
  return new BucketSaves({ bucket, disk, logLine: (line) => sentences.push(line), pause, nowMs: () => nowMs });
}

async function uploaderIn(saveDirectory: string, pause = () => new Promise<void>(() => undefined)) {
  return new PartUploader({ saves: await savesOn(1, pause), saveDirectory, ranks: '2-3', firstRank: 2 });
}

function publish(gang: Partial<SavingGang> = {}, fact: SavedFact = FACT): Promise<PublishedSave | undefined> {
  const { signal } = new AbortController();
  const saves = new GangSaves(leader, (why) => broken.push(why));
  return saves.publish(fact, { ...GANG, ...gang }, { isInHurry: () => false, signal });
}

function inBucket(): readonly string[] {
  return [...bucket.files.keys()].toSorted();
}

const PUBLISHED = [...FILES.flat(), MANIFEST_FILE].map((file) => `${FOLDER}/${file}`).toSorted();

describe('a save on the disks of two nodes', () => {
  it('is published with a manifest of all files, and verified in the bucket', async () => {
    const published = await publish();
    expect(inBucket()).toEqual(PUBLISHED);
    const text = bucket.files.get(`${FOLDER}/${MANIFEST_FILE}`) ?? new Uint8Array();
    const manifest = CheckpointManifest.parse(JSON.parse(Buffer.from(text).toString()));
    for (const { path, sha256: listed } of manifest.files)
      expect(listed).toBe(sha256(readFileSync(join(FIXTURE, path))));
    const checkpoint = { step: 20, directory: 'step-20', format: 'dcp', files: 5, manifestSha256: sha256(text) };
    expect(published).toMatchObject({
      checkpoint,
      inspection: { verification: { level: 'V1', verdict: 'sound', by: 'Launcher' } },
    });
    expect(published?.inspection.contents?.tensors).toBeGreaterThan(0);
  });

  it('of an engine that writes manifests keeps the manifest of the engine', async () => {
    const files = FILES.flat().map((path) => {
      const content = readFileSync(join(FIXTURE, path));
      return { path, bytes: content.length, sha256: sha256(content) };
    });
    const manifest = JSON.stringify({
      formatVersion: 1,
      engine: 'reference',
      format: 'torch_dcp',
      step: 20,
      layout: {},
      training: {},
      files,
    });
    writeFileSync(join(onDisk(0, FOLDER), MANIFEST_FILE), manifest);
    const fact = { ...FACT, manifestSha256: sha256(manifest) };
    expect(await publish({ engine: undefined }, fact)).toMatchObject({
      checkpoint: { manifestSha256: sha256(manifest), format: 'torch_dcp' },
    });
    expect(inBucket()).toEqual(PUBLISHED);
  });

  it('is downloaded whole by a pod that has the files of its ranks', async () => {
    const published = await publish();
    const pod = await savesOn(1, () => Promise.resolve());
    const manifestSha256 = published?.checkpoint.manifestSha256 ?? '';
    expect(await pod.download({ folder: FOLDER, manifestSha256 })).toBeUndefined();
    for (const file of FILES.flat()) expect(existsSync(join(onDisk(1, FOLDER), file))).toBe(true);
  });

  it('waits for files that are still being written, and for one that comes after the call', async () => {
    rmSync(join(onDisk(1, FOLDER), '__3_0.distcp'));
    let polls = 0;
    meanwhile = async () => {
      polls++;
      // DeepSpeed names the save before the last rank has written.
      if (polls === 2) writeFileSync(join(onDisk(1, FOLDER), '__3_0.distcp'), 'begin');
      if (polls === 3) save(1, ['__3_0.distcp'], FOLDER);
      await other.poll();
    };
    expect(await publish()).toMatchObject({ inspection: { verification: { verdict: 'sound' } } });
    expect(inBucket()).toEqual(PUBLISHED);
  });

  it('waits for a file that a rank of the own pod writes last', async () => {
    rmSync(join(onDisk(0, FOLDER), '.metadata'));
    meanwhile = async () => {
      if (nowMs >= 5_000) save(0, ['.metadata'], FOLDER);
      await other.poll();
    };
    expect(await publish()).toMatchObject({ checkpoint: { files: 5 } });
    expect(inBucket()).toEqual(PUBLISHED);
  });

  it.each([false, true])(
    'leaves the copy that other ranks use, if they have started meanwhile: %s',
    async (haveStarted) => {
      const copy = `${SAVE_DIRECTORY}/step-10`;
      save(0, ['.metadata'], copy);
      await leader.keepOnly(copy);
      const restart = new AbortController();
      const write = bucket.write.bind(bucket);
      bucket.write = async (path, ...more) => {
        if (haveStarted && path.endsWith(MANIFEST_FILE)) restart.abort();
        return await write(path, ...more);
      };
      const options = { isInHurry: () => false, signal: restart.signal };
      expect((await new GangSaves(leader).publish(FACT, GANG, options)) === undefined).toBe(haveStarted);
      expect(existsSync(onDisk(0, copy))).toBe(haveStarted);
    },
  );

  it('is never reported if a pod does not upload its part, and stays marked as half-uploaded', async () => {
    meanwhile = () => Promise.resolve();
    expect(await publish()).toBeUndefined();
    expect(sentences.filter((line) => line.startsWith('Waiting'))[0]).toMatch(
      /^Waiting for the files of ranks 2-3: memory\/tiny\/epoch-1\/step-20 has 5 files of 0\.0 GB\.$/,
    );
    expect(sentences.at(-1)).toMatch(/and it is not reported: it waited \d+ s for ranks 2-3 in vain$/);
    expect(halfUploadedSaves(await bucket.list()).map(({ folder }) => folder)).toEqual([FOLDER]);
    const next = await savesOn(0, () => Promise.resolve());
    expect(await next.removeHalfUploaded('tiny')).toEqual([FOLDER]);
    expect(inBucket()).toEqual([]);
  });

  it('is not reported if two pods wrote one path with other bytes, and the log names both', async () => {
    writeFileSync(join(onDisk(1, FOLDER), '__0_0.distcp'), 'of a rank that takes itself for rank 0');
    expect(await publish()).toBeUndefined();
    expect(sentences.at(-1)).toContain('__0_0.distcp was saved by ranks 0-1 and by ranks 2-3, with other bytes');
    expect(inBucket()).not.toContain(`${FOLDER}/${MANIFEST_FILE}`);
  });

  it('is not reported if its files do not belong together', async () => {
    writeFileSync(join(onDisk(1, FOLDER), '__2_0.distcp'), readFileSync(join(FIXTURE, '__2_0.distcp')).subarray(0, 99));
    expect(await publish()).toBeUndefined();
    expect(sentences.at(-1)).toMatch(/and it is not reported: it is damaged: File __2_0\.distcp has 99 bytes/);
    expect(broken).toEqual([expect.stringMatching(/^it is damaged: File __2_0\.distcp has 99 bytes/)]);
    expect(inBucket()).not.toContain(`${FOLDER}/${MANIFEST_FILE}`);
  });
});

describe('a pod without rank 0', () => {
  it('uploads nothing for another run of the job, whose pods are gone or not begun', async () => {
    const late = await uploaderIn('tiny/epoch-0');
    meanwhile = async () => {
      await late.poll();
      if (nowMs < 10_000) expect(inBucket().some((path) => path.includes('__2_0'))).toBe(false);
      else await other.poll();
    };
    expect(await publish()).toBeDefined();
  });

  it('removes saves that were never called for once a newer one is uploaded', async () => {
    save(1, FILES[1] ?? [], `${SAVE_DIRECTORY}/step-10`);
    mkdirSync(onDisk(1, `${SAVE_DIRECTORY}/tensorboard`));
    await publish();
    expect(existsSync(onDisk(1, `${SAVE_DIRECTORY}/step-10`))).toBe(false);
    expect(existsSync(onDisk(1, `${SAVE_DIRECTORY}/tensorboard`))).toBe(true);
    expect(existsSync(onDisk(1, FOLDER))).toBe(true);
  });

  it('ends some seconds after its ranks, when no call comes', async () => {
    const startMs = nowMs;
    const ending = await uploaderIn(SAVE_DIRECTORY, async () => {
      nowMs += 1_000;
      await Promise.resolve();
    });
    await ending.finish({ quietMs: 6_000, limitMs: 60_000 });
    expect(nowMs - startMs).toBeGreaterThan(6_000);
  });
});
