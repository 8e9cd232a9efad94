/** A deletion worker of a bucket, as the operator starts it, against a real object store. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeletionAnswer, type DeletionQuestion, POD_ENV } from '@coxswain/api-types';
import { DELETION_FILE, UPLOAD_FILE } from '@coxswain/checkpoint';
import { type ObjectStore, startObjectStore } from '@coxswain/test-harness';
import { openBucketStore } from '../bucket/open-bucket.ts';
import { bucketIn } from '../program/settings.ts';
import { sha256 } from '../testing/a-checkpoint.ts';
import { runDeletion } from './delete-checkpoint.ts';

const MANIFEST = JSON.stringify({
  formatVersion: 1,
  engine: 'reference',
  format: 'torch_dcp',
  step: 10,
  layout: {},
  training: {},
  files: [
    { path: '__0_0.distcp', bytes: 4 },
    { path: '.metadata', bytes: 1 },
  ],
});
const SAVE = { 'manifest.json': MANIFEST, '.metadata': 'm', '__0_0.distcp': 'data' };
const manifestSha256 = sha256(MANIFEST);
const QUESTION: DeletionQuestion = {
  save: { path: 'run/step-10', manifestSha256 },
  isMounted: true,
  isInBucket: true,
  survivors: [{ path: 'run/step-20', manifestSha256 }],
};

let objects: ObjectStore;
let directory: string;
beforeAll(async () => {
  objects = await startObjectStore();
  directory = mkdtempSync(join(tmpdir(), 'coxswain-bucket-deletion-'));
});
afterAll(async () => {
  await objects.stop();
  rmSync(directory, { recursive: true });
});

let made = 0;
/** A prefix with these saves, and how a pod reaches it. */
async function aBucket(saves: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  const environment = {
    [POD_ENV.bucket]: JSON.stringify({ uri: `s3://test/deletion-${++made}`, endpoint: objects.endpoint }),
    [POD_ENV.bucketKeyId]: 'key',
    [POD_ENV.bucketKey]: 'secret',
    COXSWAIN_TERMINATION_LOG: join(directory, `answer-${made}`),
  };
  const open = () => openBucketStore(bucketIn(environment) as NonNullable<ReturnType<typeof bucketIn>>);
  const store = await open();
  for (const [folder, files] of Object.entries(saves))
    for (const [path, text] of Object.entries(files)) await store.write(`${folder}/${path}`, [Buffer.from(text)]);
  const ask = async (change: Partial<DeletionQuestion> = {}): Promise<DeletionAnswer> => {
    await runDeletion(JSON.stringify({ ...QUESTION, ...change }), environment, open);
    return DeletionAnswer.parse(JSON.parse(readFileSync(environment.COXSWAIN_TERMINATION_LOG, 'utf8')));
  };
  const left = async (folder: string): Promise<number> => (await store.list(folder)).length;
  return { ask, left };
}

it('deletes the save and nothing beside it, also the marks of an upload that was killed', async () => {
  const saves = { 'run/step-10': { ...SAVE, [UPLOAD_FILE]: 'x' }, 'run/step-100': SAVE, 'run/step-20': SAVE };
  const { ask, left } = await aBucket(saves);
  expect(await ask()).toEqual({ version: 1, outcome: 'Deleted', files: 4 });
  expect([await left('run/step-10'), await left('run/step-100'), await left('run/step-20')]).toEqual([0, 3, 3]);
});

it('completes a deletion that was interrupted, and deletes nothing twice', async () => {
  const half = { '__0_0.distcp': 'data', [DELETION_FILE]: '' };
  const { ask, left } = await aBucket({ 'run/step-10': half });
  expect((await ask({ onlyIfBegun: true })).outcome).toBe('Deleted');
  expect([await left('run/step-10'), (await ask({ survivors: [] })).files]).toEqual([0, 0]);
});

it.each<[what: string, survivors: Readonly<Record<string, string>>, why: RegExp]>([
  ['lacks a file', { 'manifest.json': MANIFEST, '.metadata': 'm' }, /step-20, .* __0_0\.distcp is missing/],
  ['is gone', {}, /step-20, which is to stay, is not whole: it has no files/],
])('deletes nothing where the save that is to survive %s', async (_what, survivor, why) => {
  const { ask, left } = await aBucket({ 'run/step-10': SAVE, 'run/step-20': survivor });
  expect(await ask()).toMatchObject({ outcome: 'Kept', why: expect.stringMatching(why) as string });
  expect(await left('run/step-10')).toBe(3);
});

it('deletes nothing, and does not call it gone, where no bucket is named or none answers', async () => {
  const log = join(directory, 'nowhere');
  const answer = async (open?: () => ReturnType<typeof openBucketStore>): Promise<DeletionAnswer> => {
    await runDeletion(JSON.stringify({ ...QUESTION, survivors: [] }), { COXSWAIN_TERMINATION_LOG: log }, open);
    return DeletionAnswer.parse(JSON.parse(readFileSync(log, 'utf8')));
  };
  const nowhere = {
    uri: 's3://nowhere/x',
    endpoint: objects.endpoint,
    region: undefined,
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
  };
  expect([await answer(), await answer(() => openBucketStore(nowhere))]).toMatchObject([
    { outcome: 'Kept', why: 'no bucket is named in its environment' },
    { outcome: 'Kept', why: expect.stringMatching(/nowhere/) as string },
  ]);
});
