import { createHash } from 'node:crypto';
import { CODE_LIMITS, CODE_MEDIA_TYPE, codePathOf } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { type CheckpointStore, openStore } from '@coxswain/checkpoint-store';
import { type ObjectStore, type SharedPostgres, startObjectStore } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { beginCode, lockedCodeBytes } from '../jobs/uploaded-code.ts';
import { removeSomeUnusedCode } from './code-retention.ts';

const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };

let postgres: SharedPostgres;
let objects: ObjectStore;
let bucket: CheckpointStore;
let api: ApiUnderTest;
let research: string;
let rivals: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  objects = await startObjectStore();
  bucket = await openStore(`s3://${objects.bucket}/code`, { endpoint: objects.endpoint, credentials });
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('code'),
    environment: {
      COXSWAIN_CODE_BUCKET_URI: `s3://${objects.bucket}/code`,
      COXSWAIN_CODE_BUCKET_ENDPOINT: objects.endpoint,
      COXSWAIN_CODE_BUCKET_KEY_ID: credentials.accessKeyId,
      COXSWAIN_CODE_BUCKET_KEY: credentials.secretAccessKey,
      COXSWAIN_PROJECT_MAX_CODE_MIB: '130',
    },
  });
  research = await api.project('research');
  rivals = await api.project('rivals');
});

afterAll(async () => {
  await api?.close();
  await objects?.stop();
});

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const urlOf = (sha256: string, project = 'research'): string => `/v1/projects/${project}/code/${sha256}`;
const upload = (
  bytes: Uint8Array,
  { sha256 = digestOf(bytes), token = research, project = 'research' } = {},
): Promise<TestAnswer> =>
  api.send('PUT', urlOf(sha256, project), { token, bytes, headers: { 'content-type': CODE_MEDIA_TYPE } });
const submit = (name: string, sha256: string, { token = research, project = 'research' } = {}): Promise<TestAnswer> =>
  api.send('POST', `/v1/projects/${project}/jobs`, {
    token,
    body: { name, spec: { ...aJobSpec(), code: { sha256 } } },
  });
const pathsIn = async (): Promise<readonly string[]> => (await bucket.list()).map(({ path }) => path);
const sql = (text: string, parameters: readonly unknown[] = []): Promise<unknown> =>
  api.running.infrastructure.database.query(text, parameters);
const sweep = (): Promise<number> => {
  const { database, cluster } = api.running.infrastructure;
  return removeSomeUnusedCode({ database, cluster, days: 30, store: bucket });
};

it('stores an archive once, and a job can name it', async () => {
  // More than a part, so that it goes in several.
  const bytes = new Uint8Array(12 << 20).map((_, index) => (index * 7919) >> 8);
  const sha256 = digestOf(bytes);
  expect((await api.send('GET', urlOf(sha256), { token: research })).status).toBe(404);
  expect(await upload(bytes)).toMatchObject({
    status: 200,
    body: { sha256, namespace: 'research', bytes: bytes.length },
  });
  const path = codePathOf('research', sha256);
  expect(digestOf(await bucket.read(path, 0, bytes.length))).toBe(sha256);
  expect(await api.send('GET', urlOf(sha256), { token: research })).toMatchObject({ status: 200, body: { sha256 } });
  // Again, with a body that would be refused if it were read.
  expect((await upload(new Uint8Array(3), { sha256 })).status).toBe(200);
  expect(digestOf(await bucket.read(path, 0, bytes.length))).toBe(sha256);
  expect(await submit('with-code', sha256)).toMatchObject({ status: 201, body: { spec: { code: { sha256 } } } });
});

it('takes an archive again that somebody deleted from the bucket', async () => {
  const bytes = Buffer.from('deleted');
  const sha256 = digestOf(bytes);
  await upload(bytes);
  await bucket.remove([codePathOf('research', sha256)]);
  expect((await api.send('GET', urlOf(sha256), { token: research })).status).toBe(404);
  expect(await upload(Buffer.from('other'), { sha256 })).toMatchObject({ status: 400 });
  expect((await upload(bytes)).status).toBe(200);
  expect(await pathsIn()).toContain(codePathOf('research', sha256));
  expect((await api.send('GET', urlOf(sha256), { token: research })).status).toBe(200);
});

it('reserves room and time again for an upload that failed before', async () => {
  const sha256 = digestOf(Buffer.from('failed'));
  await upload(Buffer.from('broken'), { sha256 });
  await sql("UPDATE code_archives SET used_at = now() - interval '2 hours' WHERE sha256 = $1", [sha256]);
  const { database, cluster } = api.running.infrastructure;
  const { rows } = await database.query<{ id: string }>("SELECT id FROM projects WHERE name = 'research'");
  const key = { clusterId: cluster.id, projectId: rows[0]?.id ?? '', namespace: 'research', sha256 };
  const before = await lockedCodeBytes(database, key);
  await beginCode(database, key, 1_000);
  expect(await lockedCodeBytes(database, key)).toBe(before + 1_000);
  expect(await sweep()).toBe(0);
  await sql('DELETE FROM code_archives WHERE sha256 = $1', [sha256]);
});

it('waits for another upload of the project before it counts what is reserved', async () => {
  const { database, cluster } = api.running.infrastructure;
  const key = { clusterId: cluster.id, projectId: '00000000-0000-4000-8000-000000000001' };
  const order: string[] = [];
  let second: Promise<unknown> | undefined;
  await database.transaction(async (first) => {
    await lockedCodeBytes(first, key);
    second = database.transaction((other) => lockedCodeBytes(other, key)).then(() => order.push('second'));
    await first.query('SELECT pg_sleep(0.2)');
    order.push('first');
  });
  await second;
  expect(order).toEqual(['first', 'second']);
});

it('refuses an archive that is not what its address says, and stores nothing', async () => {
  const before = await pathsIn();
  const small = await upload(Buffer.from('one'), { sha256: digestOf(Buffer.from('two')) });
  const large = await upload(new Uint8Array(11 << 20), { sha256: digestOf(Buffer.from('three')) });
  for (const answer of [small, large]) {
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(answer.body.detail).toContain('send the bytes that the digest was made of');
  }
  expect((await upload(Buffer.from('x'), { sha256: 'short' })).body.detail).toContain('64 hexadecimal digits');
  const json = await api.send('PUT', urlOf('a'.repeat(64)), { token: research, body: {} });
  expect(json.body.detail).toContain('application/gzip');
  expect(await pathsIn()).toEqual(before);
  // Only what failed is left of them.
  await sql("UPDATE code_archives SET used_at = now() - interval '2 hours' WHERE uploaded_at IS NULL");
  expect(await sweep()).toBe(3);
});

it('refuses an archive that is too large', async () => {
  const answer = await upload(new Uint8Array(CODE_LIMITS.archiveBytes + 1), { sha256: 'b'.repeat(64) });
  expect(answer).toMatchObject({ status: 413, body: { code: 'TOO_LARGE' } });
  expect(answer.body.detail).toContain('at most 64.0 MiB');
  await sql('DELETE FROM code_archives WHERE uploaded_at IS NULL');
});

it('a job cannot name what its project did not upload', async () => {
  const bytes = Buffer.from('of research');
  const sha256 = digestOf(bytes);
  await upload(bytes);
  const answer = await submit('stolen', sha256, { token: rivals, project: 'rivals' });
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/spec/code/sha256' }] } });
  expect(answer.body.detail).toContain('the project has uploaded no archive');
  expect((await api.send('GET', urlOf(sha256, 'rivals'), { token: rivals })).status).toBe(404);
});

it('removes archives that no job names after a time, and none that one names', async () => {
  const [used, unused] = [Buffer.from('used'), Buffer.from('unused')];
  for (const bytes of [used, unused]) await upload(bytes);
  expect((await submit('keeps', digestOf(used))).status).toBe(201);
  expect(await sweep()).toBe(0);
  await sql("UPDATE code_archives SET used_at = now() - interval '31 days' WHERE sha256 = ANY ($1)", [
    [digestOf(used), digestOf(unused)],
  ]);
  expect(await sweep()).toBe(1);
  const paths = await pathsIn();
  expect(paths).toContain(codePathOf('research', digestOf(used)));
  expect(paths).not.toContain(codePathOf('research', digestOf(unused)));
  // The sweep saw the job that names it, so the archive is kept for 30 more days when the job is gone.
  await sql("UPDATE jobs SET deleted_at = now() WHERE name = 'keeps'");
  expect(await sweep()).toBe(0);
  expect((await submit('late', digestOf(unused))).body.detail).toContain('upload the working directory again');
  // What is marked and not yet removed, as after a crash, is refused and then removed.
  await upload(unused);
  await sql('UPDATE code_archives SET removed_at = now() WHERE sha256 = $1', [digestOf(unused)]);
  expect((await submit('later', digestOf(unused))).status).toBe(400);
  expect(await upload(unused)).toMatchObject({ status: 503 });
  expect(await sweep()).toBe(1);
  expect((await upload(unused)).status).toBe(200);
});

it('removes the object of two projects that had the namespace, when none keeps it', async () => {
  const bytes = Buffer.from('of two projects');
  await upload(bytes);
  await sql(
    `INSERT INTO code_archives (cluster_id, project_id, namespace, sha256, bytes)
     SELECT cluster_id, (SELECT id FROM projects WHERE name = 'rivals'), namespace, sha256, bytes FROM code_archives WHERE sha256 = $1`,
    [digestOf(bytes)],
  );
  await sql('UPDATE code_archives SET removed_at = now() WHERE sha256 = $1', [digestOf(bytes)]);
  expect(await sweep()).toBe(2);
  expect(await pathsIn()).not.toContain(codePathOf('research', digestOf(bytes)));
});

it('a project keeps no more than its limit', async () => {
  await sql('UPDATE code_archives SET bytes = $1 WHERE sha256 = $2', [70 << 20, digestOf(Buffer.from('used'))]);
  const answer = await upload(Buffer.from('one more'));
  expect(answer).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  expect(answer.body.detail).toContain('130 MiB are its limit');
});

it('without a bucket the answer names what an administrator sets', async () => {
  const without = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('nocode') });
  const token = await without.project('research');
  const headers = { 'content-type': CODE_MEDIA_TYPE };
  const answer = await without.send('PUT', urlOf('a'.repeat(64)), { token, bytes: new Uint8Array(1), headers });
  expect(answer.status).toBe(400);
  expect(answer.body.detail).toContain('an administrator sets codeBucket.uri of the chart');
  await without.close();
});
