import { type ObjectStore, startObjectStore } from '@coxswain/test-harness';
import type { StoreError } from '../store-error.ts';
import { FaultyServer } from '../testing/faulty-server.ts';
import type { S3Options } from './s3-options.ts';
import { S3Store } from './s3-store.ts';

const CREDENTIALS = { accessKeyId: 'key', secretAccessKey: 'secret' };

let objects: ObjectStore;
let proxy: FaultyServer;
let prefixes = 0;
beforeAll(async () => {
  objects = await startObjectStore();
  proxy = await FaultyServer.start(objects.endpoint);
});
afterAll(async () => {
  await proxy.stop();
  await objects.stop();
});
afterEach(() => proxy.heal());

/** At a prefix of its own. */
function newStore(options: Partial<S3Options> & { readonly bucket?: string } = {}): S3Store {
  return storeAt(prefixes++, options);
}

/** Two clients of one place. */
function twoStores(): readonly [S3Store, S3Store] {
  const place = prefixes++;
  return [storeAt(place), storeAt(place)];
}

function storeAt(
  place: number,
  { bucket = objects.bucket, ...options }: Partial<S3Options> & { readonly bucket?: string } = {},
): S3Store {
  return new S3Store(
    { kind: 'bucket', bucket, prefix: `run-${String(place)}/step 1+é` },
    { endpoint: proxy.endpoint, credentials: CREDENTIALS, silenceMs: 2000, ...options },
  );
}

/** S3 accepts no smaller part but the last. */
const LEAST_PART = 5 << 20;

function bytesOf(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = index * 7 + (index >> 8);
  return bytes;
}

describe('an S3 store', () => {
  it('lists files with sizes and times, over more than one page, and only those below its prefix', async () => {
    const store = newStore({ pageFiles: 10 });
    const other = newStore();
    await other.write('other', [bytesOf(1)]);
    for (let rank = 0; rank < 25; rank++) await store.write(`rank-${String(rank)}/0.distcp`, [bytesOf(3)]);
    const files = await store.list();
    expect(files.length).toBe(25);
    expect(proxy.requests.filter(({ path }) => path.includes('list-type=2')).length).toBe(3);
    expect(files.find(({ path }) => path === 'rank-3/0.distcp')).toEqual({
      path: 'rank-3/0.distcp',
      bytes: 3,
      writtenMs: expect.any(Number) as number,
    });
    expect((await store.list('rank-2')).map(({ path }) => path)).toEqual(['rank-2/0.distcp']);
    expect(await store.list('rank-99')).toEqual([]);
  });

  it('names the folders right below one, over more than one page', async () => {
    const store = newStore({ pageFiles: 2 });
    for (const path of ['logs/a/1/x', 'logs/a/2/x', 'logs/b/1/x', 'logs/c/x', 'logs/file', 'other/d/x'])
      await store.write(path, [bytesOf(1)]);
    expect(await store.folders('logs')).toEqual(['a', 'b', 'c']);
    expect(await store.folders('nothing')).toEqual([]);
  });

  it.each<[string, readonly [offset: number, length: number], readonly [from: number, to: number]]>([
    ['a range', [10, 20], [10, 30]],
    ['a range that ends beyond the file', [90, 20], [90, 100]],
    ['a range behind the file', [100, 20], [100, 100]],
    ['nothing', [5, 0], [5, 5]],
  ])('reads %s', async (_what, asked, got) => {
    const store = newStore();
    await store.write('file', [bytesOf(100)]);
    expect([...(await store.read('file', ...asked))]).toEqual([...bytesOf(100).subarray(...got)]);
  });

  it('writes a file once if it must not exist', async () => {
    const store = newStore();
    expect(await store.write('marker', [bytesOf(3)], { ifAbsent: true })).toBe(true);
    expect(await store.write('marker', [bytesOf(9)], { ifAbsent: true })).toBe(false);
    expect((await store.list()).map(({ bytes }) => bytes)).toEqual([3]);
    expect(await store.write('marker', [bytesOf(9)])).toBe(true);
  });

  it('writes a large file in parts, and cuts and joins chunks to parts', async () => {
    const store = newStore({ partBytes: LEAST_PART });
    const bytes = bytesOf(3.5 * LEAST_PART);
    const [first, second] = [0.3 * LEAST_PART, 2.9 * LEAST_PART];
    await store.write('large', [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]);
    expect(Buffer.from(await store.read('large', 0, 2 * bytes.length)).equals(bytes)).toBe(true);
    expect(proxy.requests.filter(({ method, path }) => method === 'PUT' && path.includes('partNumber')).length).toBe(4);
  });

  it('leaves no part of a large file that could not be written', async () => {
    const store = newStore({ partBytes: LEAST_PART });
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(bytesOf(2.5 * LEAST_PART));
      throw new Error('the disk is gone');
    }
    await expect(store.write('large', broken())).rejects.toThrow('the disk is gone');
    expect(await store.list()).toEqual([]);
    expect(proxy.requests.at(-2)).toEqual({ method: 'DELETE', path: expect.stringContaining('uploadId') as string });
  });

  it('deletes more files than one request can name, and files that do not exist', async () => {
    const store = newStore();
    await store.write('kept', [bytesOf(1)]);
    await store.write('file-1', [bytesOf(1)]);
    await store.remove(Array.from({ length: 1001 }, (_, index) => `file-${String(index)}`));
    expect((await store.list()).map(({ path }) => path)).toEqual(['kept']);
  });

  it('goes on where a connection broke, and does not read the same bytes again', async () => {
    const store = newStore();
    await store.write('file', [bytesOf(5000)]);
    proxy.breakAfterBytes(1500);
    const read = await store.read('file', 0, 5000);
    expect(Buffer.from(read).equals(bytesOf(5000))).toBe(true);
    expect(proxy.requests.filter(({ method }) => method === 'GET').map(({ range }) => range)).toEqual([
      'bytes=0-4999',
      'bytes=1500-4999',
      'bytes=3000-4999',
      'bytes=4500-4999',
    ]);
  });

  it('waits for a slow server that sends', async () => {
    const store = newStore({ silenceMs: 500 });
    await store.write('file', [bytesOf(40)]);
    proxy.sendByteEveryMs(25); // 1 s in all.
    expect((await store.read('file', 0, 40)).length).toBe(40);
  });

  it('refuses to mix two versions of a file', async () => {
    const [store, other] = twoStores();
    await store.write('file', [bytesOf(10)]);
    await store.list();
    await other.write('file', [bytesOf(20)]);
    await expect(store.read('file', 0, 10)).rejects.toThrow(/file in s3:.* was written again while it was read\. Try/);
  });
});

describe('an S3 store does not take for the end of a file', () => {
  it('a connection that ends early without an error', async () => {
    const store = newStore();
    await store.write('file', [bytesOf(5000)]);
    proxy.endAfterBytes(3000);
    expect(Buffer.from(await store.read('file', 0, 5000)).equals(bytesOf(5000))).toBe(true);
  });

  it('an answer of a server that ignores ranges', async () => {
    const store = newStore();
    await store.write('file', [bytesOf(100)]);
    proxy.ignoreRanges();
    await expect(store.read('file', 50, 100)).rejects.toThrow(/the server ignores ranges/);
  });
});

describe('an S3 store says what to do if', () => {
  it.each<[string, () => S3Store, () => void, readonly [kind: string, message: RegExp]]>([
    [
      'the bucket does not exist',
      () => newStore({ bucket: 'nowhere' }),
      () => undefined,
      ['NotFound', /Bucket nowhere does not exist at http.*AWS_ENDPOINT_URL/],
    ],
    [
      'access is denied',
      () => newStore(),
      () => proxy.answer(403, 'AccessDenied'),
      ['AccessDenied', /denies access to list objects.*need s3:ListBucket on bucket test/],
    ],
    [
      'the key is not known',
      () => newStore(),
      () => proxy.answer(403, 'InvalidAccessKeyId'),
      ['AccessDenied', /rejects the credentials .*AWS_PROFILE/],
    ],
    [
      'the bucket is in another region',
      () => newStore(),
      () => proxy.answer(400, 'AuthorizationHeaderMalformed'),
      ['Other', /in another region\. Set AWS_REGION/],
    ],
    [
      'nothing listens',
      () => newStore({ endpoint: 'http://127.0.0.1:1' }),
      () => undefined,
      ['Unreachable', /127\.0\.0\.1:1 does not answer \(ECONNREFUSED\)\. Check/],
    ],
    [
      'the name of the server is unknown',
      () => newStore({ endpoint: 'http://objects.invalid' }),
      () => undefined,
      ['Unreachable', /does not answer \((ENOTFOUND|EAI_AGAIN)\)/],
    ],
    [
      'the server is silent',
      () => newStore({ silenceMs: 100 }),
      () => proxy.beSilent(),
      ['Unreachable', /does not answer/],
    ],
  ])('%s', async (_what, store, fail, [kind, message]) => {
    const asked = store();
    fail();
    const error = await asked.list().then(
      () => undefined,
      (reason: unknown) => reason as StoreError,
    );
    expect([error?.kind, error?.message]).toEqual([kind, expect.stringMatching(message)]);
  });

  it('the server goes silent while it sends', async () => {
    const store = newStore({ silenceMs: 100 });
    await store.write('file', [bytesOf(5000)]);
    proxy.stallAfterBytes(0);
    await expect(store.read('file', 0, 5000)).rejects.toThrow(/Cannot read file in s3.*does not answer/);
  });
});
