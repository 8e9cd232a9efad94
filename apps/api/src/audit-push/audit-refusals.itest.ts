/** Receivers that do not take each entry of the audit: bounds of messages, refused entries, and what retention removes meanwhile. Over real PostgreSQL. */
import type { Server as HttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { createAuthority, waitFor } from '@coxswain/local-cluster';
import { createLogger, createMetrics, type Metrics } from '@coxswain/telemetry';
import { HOUR_MS } from '@coxswain/units';
import type { SharedPostgres } from '@coxswain/test-harness';
import { removeSomeOldAudit } from '../audit/audit-retention.ts';
import { recordAudit } from '../auth/audit.ts';
import type { AuditReceiver } from '../config/audit-config.ts';
import { ensureCluster } from '../infrastructure/installation.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { postMessage } from '../messages/post-message.ts';
import { anAdministrator } from '../testing/a-principal.ts';
import { createTestDatabase, migratedPostgres, type TestDatabase } from '../testing/test-database.ts';
import { AuditPusher } from './audit-pusher.ts';

interface Batch {
  readonly firstSequence: number;
  readonly dropped: number;
  readonly entries: readonly { readonly object: string; readonly sequence: number }[];
}

let postgres: SharedPostgres;
let test: TestDatabase;
let cluster: Cluster;
let server: Server;
let receiver: AuditReceiver;
let metrics: Metrics;
let pushing: { readonly stop: AbortController; readonly done: Promise<void> };

/** Status with which the receiver answers. */
let answer: (batch: Batch) => number;
let attempts: Batch[];
let bytes: number[];
let taken: Batch[];
let aheadMs: number;

beforeAll(async () => {
  postgres = migratedPostgres();
  const authority = await createAuthority('receivers');
  const { certPem: cert, keyPem: key } = await authority.issue({ commonName: 'receiver', hosts: ['127.0.0.1'] });
  server = createServer({ cert, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const { data } = JSON.parse(body.toString()) as { readonly data: Batch };
      const status = answer(data);
      attempts.push(data);
      bytes.push(body.byteLength);
      if (status < 300) taken.push(data);
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  receiver = { form: 'webhook', url, secret, tls: { ca: authority.certPem } };
});
afterAll(() => void server?.close());

beforeEach(async () => {
  test = await createTestDatabase(postgres, 'audit_refusals');
  cluster = await ensureCluster(test.database, { name: 'default', id: undefined });
  [attempts, bytes, taken, aheadMs] = [[], [], [], 0];
  answer = () => 503;
  metrics = createMetrics();
  const pusher = new AuditPusher({
    ...{ database: test.database, cluster, receiver, metrics },
    logger: createLogger({ program: 'coxswain-api', level: 'silent' }),
    clock: { now: () => new Date(Date.now() + aheadMs) },
    pauses: { idleMs: 5, longestMs: 5 },
  });
  const stop = new AbortController();
  pushing = { stop, done: pusher.run(stop.signal) };
  const isEnabled = async () => (await test.database.query('SELECT FROM audit_receivers WHERE is_enabled')).rows[0];
  await waitFor(isEnabled, { what: 'entries to be queued' });
});
afterEach(async () => {
  pushing.stop.abort();
  await pushing.done;
  await test.close();
});

/** In one transaction, so that they are sent together. */
const record = (names: readonly string[], detail: Record<string, unknown> = {}): Promise<void> =>
  test.database.transaction(async (sql) => {
    for (const target of names)
      await recordAudit(sql, anAdministrator(), {
        ...{ action: 'layout.create', target, projectId: null, clusterId: cluster.id, detail },
      });
  });
const until = (what: string, holds: () => boolean | Promise<boolean>): Promise<unknown> =>
  waitFor(async () => (await holds()) || undefined, { what, deadlineMs: 15_000 });
const objects = (): readonly string[] => taken.flatMap(({ entries }) => entries.map(({ object }) => object));
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `entry-${index}`);
async function metric(pattern: string): Promise<number> {
  const { text } = await metrics.expose();
  return Number(new RegExp(`^coxswain_api_audit_${pattern} (\\S+)$`, 'm').exec(text)?.[1]);
}
const DROPPED = 'pushed_entries_total\\{outcome="dropped"\\}';

it('no message has more than 64 KiB, and each entry arrives once and in order', async () => {
  answer = () => 204;
  await record(names(100), { path: 'ü'.repeat(900) });
  await until('100 entries', () => objects().length === 100);
  expect(objects()).toEqual(names(100));
  expect(Math.max(...bytes)).toBeLessThanOrEqual(64 * 1024);
  expect(Math.max(...bytes)).toBeGreaterThan(32 * 1024);
});

it('a receiver that takes ten entries at once gets the entries of a refused message in parts', async () => {
  answer = ({ entries }) => (entries.length > 10 ? 413 : 204);
  await record(names(30));
  await until('30 entries', () => objects().length === 30);
  expect(objects()).toEqual(names(30));
  expect(taken.flatMap(({ entries }) => entries.map(({ sequence }) => sequence))).toEqual(
    names(30).map((_, index) => index + 1),
  );
});

it.each([400, 413, 422])(
  'an entry that is refused with %i for 24 hours is dropped, and no other is',
  async (status) => {
    answer = ({ entries }) => (entries.some(({ object }) => object === 'entry-2') ? status : 204);
    await record(names(5));
    await until('the entry alone', () => attempts.filter(({ entries }) => entries[0]?.object === 'entry-2').length > 3);
    expect(objects()).toEqual(['entry-0', 'entry-1']);
    aheadMs = 23 * HOUR_MS;
    const before = attempts.length;
    await until('more attempts', () => attempts.length > before + 2);
    expect(objects()).toEqual(['entry-0', 'entry-1']);
    aheadMs = 25 * HOUR_MS;
    await until('the others', () => objects().length === 4);
    expect(objects()).toEqual(['entry-0', 'entry-1', 'entry-3', 'entry-4']);
    expect(taken.filter(({ dropped }) => dropped > 0)).toMatchObject([{ firstSequence: 3, dropped: 1, entries: [] }]);
    expect(await metric(DROPPED)).toBe(1);
  },
);

it('a receiver that refuses everything loses one entry, however long that takes', async () => {
  answer = () => 422;
  await record(names(3));
  for (const day of [0, 2, 4, 6]) {
    aheadMs = day * 24 * HOUR_MS;
    const before = attempts.length;
    await until('attempts', () => attempts.length > before + 3);
  }
  answer = () => 204;
  await until('the rest', () => objects().length === 2);
  expect(objects()).toEqual(['entry-1', 'entry-2']);
});

it('after retention removed what waits, the age goes on and each removed entry is counted before the receiver is back', async () => {
  const old = `INSERT INTO audit (cluster_id, at, action, target)
               SELECT $1, now() - interval '30 days', 'layout.create', 'entry-' || place FROM generate_series(1, 150) AS place`;
  await test.database.query(old, [cluster.id]);
  await until('an attempt', () => attempts.length > 0);
  aheadMs = 2 * HOUR_MS;
  await removeSomeOldAudit(test.database, { cluster, retentionDays: 7 });
  await until('150 dropped entries', async () => (await metric(DROPPED)) === 150);
  const before = attempts.length;
  await until('an attempt without entries', () => attempts.length > before + 2);
  expect(attempts.at(-1)?.entries).toEqual([]);
  expect(await metric('push_oldest_seconds')).toBeGreaterThanOrEqual(7_200);
  answer = () => 204;
  await until('an empty queue', async () => (await metric('push_oldest_seconds')) === 0);
  expect(taken.reduce((sum, { dropped }) => sum + dropped, 0)).toBe(150);
  expect(await metric(DROPPED)).toBe(150);
});

it.each([
  [100 * 1024, 401],
  [2 * 1024 * 1024, 413],
])('the receiver of the examples answers an unsigned message of %i bytes with %i', async (size, status) => {
  const example = new URL('../../../../examples/webhooks/receiver.mjs', import.meta.url).href;
  const { receiver: receiverOf } = (await import(example)) as {
    readonly receiver: (secret: string, onMessage: () => void) => HttpServer;
  };
  const door = receiverOf('whsec_', () => undefined);
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}/`;
  const headers = { 'content-length': String(size) };
  const rules = { allowsHttp: true, allowedRanges: ['0.0.0.0/0'] };
  const { signal } = new AbortController();
  expect(await postMessage({ url, headers, body: 'a'.repeat(size) }, { rules, signal })).toEqual({ status });
  door.close();
});
