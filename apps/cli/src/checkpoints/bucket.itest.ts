import { openStore } from '@coxswain/checkpoint-store';
import { FaultyServer } from '@coxswain/checkpoint-store/testing';
import { type ObjectStore, startObjectStore } from '@coxswain/test-harness';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const SAVE = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures/dcp-2.15.0');
const KEYS = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret', AWS_EC2_METADATA_DISABLED: 'true' };
const CREDENTIALS = { accessKeyId: 'key', secretAccessKey: 'secret' };

let objects: ObjectStore;
const before = { ...process.env };
beforeAll(async () => {
  objects = await startObjectStore();
  // The AWS SDK reads its own variables.
  Object.assign(process.env, KEYS);
  await upload('run/step-12');
});
afterAll(async () => {
  process.env = before;
  await objects.stop();
});

async function upload(prefix: string, change = (_path: string, bytes: Buffer): Buffer => bytes): Promise<void> {
  const store = await openStore(`s3://test/${prefix}`, { endpoint: objects.endpoint, credentials: CREDENTIALS });
  for (const path of readdirSync(SAVE).toSorted().toReversed())
    await store.write(path, [change(path, readFileSync(join(SAVE, path)))]);
}

const checkpoint = (...argv: readonly string[]): Promise<OfflineOutcome> =>
  runOffline({ env: { AWS_ENDPOINT_URL: objects.endpoint } }, 'checkpoint', ...argv);

describe('a checkpoint in a bucket', () => {
  it('is shown', async () => {
    const { out, err, code } = await checkpoint('show', 's3://test/run/step-12/');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^Format +dcp\nVerdict +sound, as far as V1 sees\nTensors +6 tensors, 435 B\n/);
  });

  it('is verified down to its bytes', async () => {
    const { out, code } = await checkpoint('verify', 's3://test/run/step-12');
    expect([code, out]).toEqual([0, expect.stringMatching(/^Sound as far as V3 sees: format dcp, .* read\.$/)]);
  });

  it('is damaged if a bit of it flipped', async () => {
    await upload('flipped', (path, bytes) => {
      if (path === '__0_0.distcp') bytes[710] = (bytes[710] ?? 0) ^ 1;
      return bytes;
    });
    const { out, code } = await checkpoint('verify', 's3://test/flipped');
    expect([code, out]).toEqual([1, expect.stringMatching(/^Damaged: .*\nV3 {2}damaged: .*__0_0\.distcp.*CRC-32/)]);
  });

  it('is suspect if a shard was last modified after the metadata', async () => {
    const proxy = await FaultyServer.start(objects.endpoint);
    proxy.rewriteLists((xml) =>
      xml.replace(/<Contents>.*?<\/Contents>/gs, (file) =>
        file.includes('__1_0.distcp') ? file.replace(/(<LastModified>)[^<]+/, '$12999-01-01T00:00:00.000Z') : file,
      ),
    );
    const env = { AWS_ENDPOINT_URL: proxy.endpoint };
    const { out, code } = await runOffline({ env }, 'checkpoint', 'verify', 's3://test/run/step-12');
    await proxy.stop();
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(
        /^Suspect: .*\nV0 {2}suspect: 1 files, such as __1_0\.distcp, were written after \.metadata/,
      ),
    ]);
  });

  it.each<[string, string, { readonly code: number; readonly err: RegExp }]>([
    [
      'the prefix holds nothing',
      's3://test/run/step-13',
      { code: 1, err: /s3:\/\/test\/run\/step-13 holds no object\. Name/ },
    ],
    ['the bucket does not exist', 's3://nowhere/run', { code: 1, err: /Bucket nowhere does not exist/ }],
    ['the bucket has no valid name', 's3://a', { code: 1, err: /names no valid bucket\. Use s3:\/\/BUCKET\/PREFIX/ }],
    [
      'the kind of store is unknown',
      'gs://bucket/run',
      { code: 1, err: /gs:\/\/ is not supported\. Use a path, or s3:/ },
    ],
  ])('cannot be read if %s', async (_what, location, { code, err }) => {
    expect(await checkpoint('verify', location)).toEqual({ code, out: '', err: expect.stringMatching(err) as string });
  });

  it('cannot be read if the server is away; the exit code says so', async () => {
    const env = { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1', AWS_ENDPOINT_URL: objects.endpoint };
    const { err, code } = await runOffline({ env }, 'checkpoint', 'verify', 's3://test/run');
    expect([code, err]).toEqual([2, expect.stringMatching(/does not answer \(ECONNREFUSED\)/)]);
  });

  it('cannot be read without credentials', async () => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) delete process.env[name];
    process.env['AWS_SHARED_CREDENTIALS_FILE'] = process.env['AWS_CONFIG_FILE'] = '/dev/null';
    const { err, code } = await checkpoint('verify', 's3://test/run/step-12');
    expect([code, err]).toEqual([1, expect.stringMatching(/no credentials were found\. Set AWS_ACCESS_KEY_ID/)]);
  });
});
