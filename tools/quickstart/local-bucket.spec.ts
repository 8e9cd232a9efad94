/** The bucket of the quickstart, as API, operator and launcher use one: through the client for S3, and by a signed URL. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CheckpointStore } from '@coxswain/checkpoint-store';
import { openStore } from '@coxswain/checkpoint-store/buckets';
import { startLocalBucket } from '@coxswain/local-cluster';

const PATH = 'research/0f.tar.gz';
/** More than a part, so that it is uploaded in several. */
const LARGE = new Uint8Array(6 << 20).fill(7, 1 << 20);

let directory: string;
let bucket: Awaited<ReturnType<typeof startLocalBucket>>;
let store: CheckpointStore;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'bucket-'));
  bucket = await startLocalBucket(directory);
  const { uri, ...options } = bucket.code;
  store = await openStore(uri, { ...options, partBytes: 5 << 20 });
});
afterAll(async () => {
  await bucket.stop();
  rmSync(directory, { recursive: true });
});

it.each([
  ['a small archive', new TextEncoder().encode('archive')],
  ['an archive in several parts', LARGE],
])('%s is read as it was written, whole or a range of it', async (_what, bytes) => {
  await store.write(PATH, [bytes]);
  expect(Buffer.compare(await store.read(PATH, 0, bytes.length + 5), bytes)).toBe(0);
  expect([...(await store.read(PATH, 2, 3))]).toEqual([...bytes.subarray(2, 5)]);
  expect((await store.list()).map((file) => [file.path, file.bytes])).toEqual([[PATH, bytes.length]]);
  // A pod reads it by a signed URL, whose signature is not checked here.
  const answer = await fetch(`${bucket.code.endpoint ?? ''}/code/archives/${PATH}?X-Amz-Signature=0`);
  expect(Buffer.compare(Buffer.from(await answer.arrayBuffer()), bytes)).toBe(0);
});

it('an archive that was removed is gone', async () => {
  await store.write(PATH, [LARGE]);
  await store.remove([PATH]);
  expect(await store.list()).toEqual([]);
  await expect(store.read(PATH, 0, 1)).rejects.toMatchObject({ name: 'StoreError' });
});

it.each(['/code/archives/..%2f..%2f..%2fetc/passwd', '/other/archives/x', '/code/..%2fx'])(
  'nothing outside of the bucket is read: %s',
  async (path) => {
    expect((await fetch(`${bucket.code.endpoint ?? ''}${path}`)).status).toBe(404);
  },
);
