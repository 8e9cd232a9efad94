/** The audit at a receiver: over real PostgreSQL, to a webhook with TLS and to a server of syslog with TLS. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import type { AuditEntry } from '@coxswain/api-types';
import { createAuthority, type KeyPair, waitFor } from '@coxswain/local-cluster';
import type { Sql } from '@coxswain/persistence';
import { createLogger, createMetrics, type Metrics } from '@coxswain/telemetry';
import type { SharedPostgres } from '@coxswain/test-harness';
import { removeSomeOldAudit } from '../audit/audit-retention.ts';
import { recordAudit } from '../auth/audit.ts';
import type { AuditReceiver } from '../config/audit-config.ts';
import { ensureCluster } from '../infrastructure/installation.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { LeaderDuties } from '../projection/leader-duties.ts';
import { anAdministrator } from '../testing/a-principal.ts';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { createTestDatabase, migratedPostgres, type TestDatabase } from '../testing/test-database.ts';
import { AuditPusher } from './audit-pusher.ts';

const RECEIVER: string = new URL('../../../../examples/webhooks/receiver.mjs', import.meta.url).href;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const AUTHORIZATION = 'Splunk hunter2';

type Sent = AuditEntry & { readonly sequence: number };
interface Batch {
  readonly type: string;
  readonly data: { readonly dropped: number; readonly stream: string; readonly entries: readonly Sent[] };
}

const directory = mkdtempSync(join(tmpdir(), 'coxswain-audit-push-'));
const servers: Server[] = [];
let postgres: SharedPostgres;
let ca: string;
let keys: KeyPair;

beforeAll(async () => {
  postgres = migratedPostgres();
  const authority = await createAuthority('receivers');
  ca = authority.certPem;
  keys = await authority.issue({ commonName: 'receiver', hosts: ['127.0.0.1'] });
  const files = { 'signing-secret': SECRET, authorization: AUTHORIZATION, 'ca.crt': ca };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), `${text}\n`);
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(directory, { recursive: true });
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** How a receiver treats what comes: it takes it, takes it and breaks the connection before it answers, or refuses it. */
type Mood = 'takes' | 'forgets' | 'refuses';

interface WebhookReceiver {
  readonly url: string;
  mood: Mood;
  /** Every id that came, and batches that it took. */
  readonly came: string[];
  readonly batches: Batch[];
}

async function aWebhookReceiver(): Promise<WebhookReceiver> {
  const { verified } = (await import(RECEIVER)) as {
    readonly verified: (headers: object, body: string, secret: string) => Batch | undefined;
  };
  const { certPem: cert, keyPem: key } = keys;
  const server = createHttpsServer({ cert, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const batch = verified(request.headers, Buffer.concat(chunks).toString(), SECRET);
      if (batch === undefined || request.headers.authorization !== AUTHORIZATION) {
        response.writeHead(401).end();
        return;
      }
      receiver.came.push(String(request.headers['webhook-id']));
      if (receiver.mood === 'refuses') response.writeHead(503).end();
      else if (receiver.mood === 'forgets') request.destroy();
      else {
        receiver.batches.push(batch);
        response.writeHead(204).end();
      }
    });
  });
  const url = `https://127.0.0.1:${await listen(server)}/audit`;
  const receiver: WebhookReceiver = { url, mood: 'takes', came: [], batches: [] };
  return receiver;
}

const entriesOf = ({ batches }: WebhookReceiver): readonly Sent[] => batches.flatMap(({ data }) => data.entries);

describe('a webhook for the audit', () => {
  it('gets each entry once and in order, over two replicas and a restart while it is away', async () => {
    const receiver = await aWebhookReceiver();
    const databaseUrl = await postgres.createDatabase('audit_push');
    const environment = { COXSWAIN_AUDIT_PUSH_URL: receiver.url, COXSWAIN_AUDIT_PUSH_DIRECTORY: directory };
    const start = (adminToken?: string): Promise<ApiUnderTest> =>
      startApiUnderTest({ databaseUrl, environment, ...(adminToken === undefined ? {} : { adminToken }) });

    receiver.mood = 'forgets';
    const first = await start();
    const { database } = first.running.infrastructure;
    const queued = async () => (await database.query('SELECT FROM audit_receivers WHERE is_enabled')).rows[0];
    await waitFor(queued, { what: 'the first replica to queue entries' });
    const admin = await first.project('research', 'admin');
    await waitFor(() => Promise.resolve(receiver.came.length > 0 || undefined), { what: 'an attempt' });
    await first.close();
    receiver.mood = 'takes';

    const [second, third] = [await start(first.adminToken), await start(first.adminToken)];
    const token = await second.send('POST', '/v1/projects/research/tokens', {
      token: admin,
      body: { name: 'ci', role: 'viewer' },
    });
    await third.send('GET', '/v1/projects/none/layouts', { token: token.body.token as string });
    for (const api of [second, third]) await api.running.infrastructure.denials.flush();

    const { body } = await second.send('GET', '/v1/projects/-/audit?pageSize=500', { token: first.adminToken });
    const written = (body.items as AuditEntry[]).filter(({ verb }) => verb !== 'administrator.bootstrap').toReversed();
    await waitFor(() => Promise.resolve(entriesOf(receiver).length >= written.length || undefined), {
      what: `${written.length} entries`,
      deadlineMs: 60_000,
    });
    const entries = entriesOf(receiver);
    expect(entries.map(({ sequence: _sequence, ...entry }) => entry)).toEqual(written);
    expect(entries.map(({ sequence }) => sequence)).toEqual(written.map((_entry, index) => index + 1));
    expect(entries.map(({ verb, outcome }) => `${verb} ${outcome}`)).toContain('layout.read denied');
    // The batch whose answer was lost came again under its id.
    expect(receiver.came.filter((id) => id === receiver.came[0]).length).toBeGreaterThan(1);
    const secret = String(token.body.token).split('_')[2] ?? 'none';
    expect(JSON.stringify(receiver.batches)).not.toMatch(new RegExp(`cxs_|hunter2|whsec_|${secret}`));
    for (const api of [second, third]) await api.close();
  });
});

interface SyslogServer {
  readonly port: number;
  mood: Mood;
  /** What it took, message by message. */
  readonly messages: string[];
  connections: number;
}

async function aSyslogServer(): Promise<SyslogServer> {
  const { certPem: cert, keyPem: key } = keys;
  let raw: Socket | undefined;
  const server = createTlsServer({ cert, key, allowHalfOpen: true }, (socket) => {
    const chunks: Buffer[] = [];
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('end', () => {
      // As the kernel does for a program that is killed before it has read everything.
      if (syslog.mood === 'forgets') raw?.resetAndDestroy();
      else {
        syslog.messages.push(...unframed(Buffer.concat(chunks)));
        socket.end();
      }
    });
  });
  server.on('connection', (socket: Socket) => {
    syslog.connections += 1;
    raw = socket;
    if (syslog.mood === 'refuses') socket.destroy();
  });
  const syslog: SyslogServer = { port: await listen(server), mood: 'takes', messages: [], connections: 0 };
  return syslog;
}

/** RFC 6587, 3.4.1. */
function unframed(bytes: Buffer): readonly string[] {
  if (bytes.length === 0) return [];
  const space = bytes.indexOf(' ');
  const end = space + 1 + Number(bytes.subarray(0, space).toString());
  return [bytes.subarray(space + 1, end).toString(), ...unframed(bytes.subarray(end))];
}

/** RFC 5424, section 6, without the byte order mark. */
const MESSAGE =
  /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\S+) coxswain - (audit|audit-dropped) \[meta sequenceId="(\d+)"\] (\{.*\})$/;
interface Parsed {
  readonly priority: number;
  readonly id: string;
  readonly sequenceId: number;
  readonly content: Sent & { readonly dropped?: number };
}
function parsed(message: string): Parsed {
  const [, priority, , , id = '', sequenceId, json = ''] = MESSAGE.exec(message) ?? [];
  return { priority: Number(priority), id, sequenceId: Number(sequenceId), content: JSON.parse(json) as Sent };
}

describe('a server of syslog for the audit', () => {
  let test: TestDatabase;
  let cluster: Cluster;
  let syslog: SyslogServer;
  let metrics: readonly Metrics[] = [];
  let duties: readonly LeaderDuties[] = [];
  const logger = createLogger({ program: 'coxswain-api', level: 'silent' });

  beforeAll(async () => {
    test = await createTestDatabase(postgres, 'audit_syslog');
    cluster = await ensureCluster(test.database, { name: 'default', id: undefined });
    syslog = await aSyslogServer();
    startReplicas();
    await waitFor(
      async () => (await test.database.query('SELECT FROM audit_receivers WHERE is_enabled')).rows[0] ?? undefined,
      { what: 'a replica to queue entries' },
    );
  });
  afterAll(async () => {
    await stopReplicas();
    await test?.close();
  });

  /** Two replicas; one has the lock. */
  function startReplicas(): void {
    metrics = [createMetrics(), createMetrics()];
    const receiver: AuditReceiver = { form: 'syslog', host: '127.0.0.1', port: syslog.port, tls: { ca } };
    duties = metrics.map((ofReplica) => {
      const pusher = new AuditPusher({
        ...{ database: test.database, cluster, receiver, logger, clock: { now: () => new Date() } },
        metrics: ofReplica,
        pauses: { idleMs: 20, longestMs: 50 },
      });
      const leader = new LeaderDuties({ url: test.urls.system, lockName: 'audit-push', logger }, () => [
        (signal) => pusher.run(signal),
      ]);
      leader.start();
      return leader;
    });
  }
  const stopReplicas = async (): Promise<void> => {
    await Promise.all(duties.map((leader) => leader.close()));
  };

  const record = (target: string, sql: Sql = test.database): Promise<void> =>
    recordAudit(sql, anAdministrator(), { action: 'layout.create', target, projectId: null, clusterId: cluster.id });
  const targets = (): readonly string[] => syslog.messages.map((message) => parsed(message).content.object);
  const taken = (target: string): Promise<unknown> =>
    waitFor(() => Promise.resolve(targets().includes(target) || undefined), {
      what: `${target} at the server`,
      deadlineMs: 15_000,
    });
  const attempts = (): Promise<unknown> => {
    const before = syslog.connections;
    return waitFor(() => Promise.resolve(syslog.connections > before || undefined), {
      what: 'an attempt',
      deadlineMs: 15_000,
    });
  };

  it('gets messages of RFC 5424 with facility 13, whose numbers have no gap', async () => {
    for (const name of ['a', 'b “c”\n d']) await record(name);
    await taken('b “c”\n d');
    const [first, second] = syslog.messages.map(parsed);
    expect(first).toMatchObject({
      priority: 13 * 8 + 6,
      id: 'audit',
      sequenceId: 1,
      content: { sequence: 1, object: 'a' },
    });
    expect(second?.sequenceId).toBe(2);
  });

  it.each<Mood>(['refuses', 'forgets'])(
    'that %s what comes gets it again, also from replicas that were started later',
    async (mood) => {
      const before = syslog.messages.length;
      syslog.mood = mood;
      for (let index = 0; index < 120; index += 1) await record(`${mood}-${index}`);
      await attempts();
      await stopReplicas();
      startReplicas();
      await attempts();
      syslog.mood = 'takes';
      await taken(`${mood}-119`);
      const came = syslog.messages.slice(before).map(parsed);
      expect(came.map(({ content }) => content.object)).toEqual(
        Array.from({ length: 120 }, (_, index) => `${mood}-${index}`),
      );
      expect(came.map(({ content }) => content.sequence)).toEqual(came.map((_, index) => before + index + 1));
    },
  );

  it('gets an entry whose transaction ended after later ones were sent', async () => {
    await test.database.transaction(async (sql) => {
      await record('early', sql);
      await record('late');
      await taken('late');
      expect(targets()).not.toContain('early');
    });
    await taken('early');
    const numbers = syslog.messages.map((message) => parsed(message).content.sequence);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  it('gets the number of entries that were removed before it took them, and a metric counts them', async () => {
    syslog.mood = 'refuses';
    const old = randomUUID();
    await test.database.query(
      "INSERT INTO audit (cluster_id, at, action, target) VALUES ($1, now() - interval '30 days', 'layout.create', $2)",
      [cluster.id, old],
    );
    await record('kept');
    await attempts();
    await removeSomeOldAudit(test.database, { cluster, retentionDays: 7 });
    syslog.mood = 'takes';
    await taken('kept');
    const last = syslog.messages.slice(-2).map(parsed);
    const [dropped, kept] = last;
    expect(dropped).toMatchObject({ priority: 13 * 8 + 4, id: 'audit-dropped', content: { dropped: 1 } });
    expect(kept).toMatchObject({ id: 'audit', content: { object: 'kept' } });
    expect(targets()).not.toContain(old);
    // Counted once the server has closed.
    const counted = async (): Promise<true | undefined> => {
      const texts = await Promise.all(metrics.map((one) => one.expose()));
      return texts.some(({ text }) => /pushed_entries_total\{outcome="dropped"\} 1$/m.test(text)) || undefined;
    };
    await waitFor(counted, { what: 'the metric of dropped entries', deadlineMs: 15_000 });
  });
});
