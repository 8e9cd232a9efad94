import type { AuditEntry } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { RETENTION_BATCH, removeSomeOldAudit } from './audit-retention.ts';

const JOBS = '/v1/projects/research/jobs';

let postgres: SharedPostgres;
let databaseUrl: string;
let api: ApiUnderTest;
let admin: string;
let operator: string;
let viewer: string;
let rival: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  databaseUrl = await postgres.createDatabase('audit');
  api = await startApiUnderTest({ databaseUrl, environment: { COXSWAIN_PROJECT_CONCURRENT_REQUESTS: '0' } });
  admin = await api.project('research', 'admin');
  rival = await api.project('rivals', 'admin');
  const token = async (name: string, role: string): Promise<string> =>
    (await api.send('POST', '/v1/projects/research/tokens', { token: admin, body: { name, role } })).body
      .token as string;
  operator = await token('ci', 'operator');
  viewer = await token('reader', 'viewer');
});

afterAll(async () => {
  await api?.close();
});

const read = (query = '', as = admin, project = 'research'): Promise<TestAnswer> =>
  api.send('GET', `/v1/projects/${project}/audit${query}`, { token: as });
const entries = async (query = '', as = admin, project = 'research'): Promise<readonly AuditEntry[]> => {
  await api.running.infrastructure.denials.flush();
  const { status, body } = await read(query, as, project);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body.items as AuditEntry[];
};
const sql = (text: string, parameters: readonly unknown[] = []) =>
  api.running.infrastructure.database.query<{ id: string }>(text, parameters);

let names = 0;
const submit = (headers: Record<string, string> = {}, name = `job-${++names}`): Promise<TestAnswer> =>
  api.send('POST', JOBS, { token: operator, headers, body: { name, spec: aJobSpec() } });

describe('what was done', () => {
  it('is told with who, from where, what, on which object and under which request id', async () => {
    const answer = await submit({ 'user-agent': 'coxswain-test/1' }, 'told');
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    const [entry] = await entries('?object=research/told');
    expect(entry).toMatchObject({
      principal: 'ci',
      principalKind: 'service',
      project: 'research',
      verb: 'job.create',
      object: 'research/told',
      outcome: 'allowed',
      reason: null,
      requests: 1,
      sourceAddress: '127.0.0.1',
      userAgent: 'coxswain-test/1',
      requestId: answer.headers['x-request-id'],
    });
  });

  it('is told with the change or not at all', async () => {
    await submit({}, 'once');
    expect(await submit({}, 'once')).toMatchObject({ status: 409 });
    expect(await entries('?object=research/once')).toHaveLength(1);
  });

  it('is told of administrators to those of the cluster alone', async () => {
    const verbs = async (as: string, project: string): Promise<readonly string[]> =>
      (await entries('?pageSize=500', as, project)).map(({ verb }) => verb);
    expect(await verbs(api.adminToken, '-')).toContain('administrator.bootstrap');
    expect(await verbs(admin, 'research')).not.toContain('administrator.bootstrap');
  });

  it('holds no secret: neither a token that was made, nor what a body said', async () => {
    const secret = operator.split('_')[2] ?? 'none';
    await api.send('POST', '/v1/projects/research/tokens', { token: `${operator}`, body: { name: 'hunter2' } });
    const recorded = JSON.stringify(await entries('?pageSize=500', api.adminToken, '-'));
    expect(recorded).toContain('token.create');
    expect(recorded).not.toContain(secret);
    expect(recorded).not.toMatch(/cxs_|hunter2|tensorParallelDegree/);
  });
});

describe('what was refused', () => {
  it.each<[string, () => Promise<TestAnswer>, Partial<AuditEntry>]>([
    [
      'a right that the role lacks, by REST',
      () => api.send('POST', JOBS, { token: viewer, body: { name: 'x', spec: aJobSpec() } }),
      { principal: 'reader', verb: 'job.submit', object: JOBS, reason: 'FORBIDDEN', project: 'research' },
    ],
    [
      'a right that the role lacks, by GraphQL',
      () =>
        api.send('POST', '/graphql', {
          token: viewer,
          body: { query: '{ a: tokens(project: "research") { items { id } } }' },
        }),
      { principal: 'reader', verb: 'token.read', object: 'graphql:tokens', reason: 'FORBIDDEN', project: 'research' },
    ],
    [
      'a project of somebody else',
      () => api.send('GET', '/v1/projects/rivals/layouts?x=1', { token: viewer }),
      {
        principal: 'reader',
        verb: 'layout.read',
        object: '/v1/projects/rivals/layouts',
        reason: 'NOT_FOUND',
        project: 'research',
        detail: { project: 'rivals' },
      },
    ],
  ])('%s, is told to the administrators of the asker', async (_what, act, want) => {
    const answer = await act();
    const [entry] = await entries(`?outcome=denied&verb=${want.verb ?? ''}`);
    expect(entry).toMatchObject({ ...want, outcome: 'denied', requests: 1, requestId: answer.headers['x-request-id'] });
  });

  it('is not told to the administrators of the project that was asked about', async () => {
    await api.send('GET', '/v1/projects/rivals', { token: viewer });
    expect(JSON.stringify(await entries('', rival, 'rivals'))).not.toContain('reader');
  });

  it('nobody who is known is told to administrators of the cluster, with address and reason', async () => {
    await api.send('GET', JOBS, { token: 'garbage', headers: { 'user-agent': 'scanner' } });
    const [entry] = await entries('?verb=authenticate', api.adminToken, '-');
    expect(entry).toMatchObject({
      principal: null,
      project: null,
      object: JOBS,
      reason: 'UNAUTHENTICATED',
      sourceAddress: '127.0.0.1',
      userAgent: 'scanner',
    });
    expect(await entries('?verb=authenticate')).toEqual([]);
  });

  it('a flood makes one entry at once, and is counted whole', async () => {
    const before = await sql('SELECT id FROM audit');
    await Promise.all(Array.from({ length: 300 }, () => api.send('DELETE', `${JOBS}/none`, { token: viewer })));
    await api.running.infrastructure.denials.flush();
    const after = await sql('SELECT id FROM audit');
    expect(after.rows.length - before.rows.length).toBe(1);
    const metrics = String((await api.send('GET', '/metrics')).body);
    expect(Number(/denied_requests_total\{code="FORBIDDEN"\} ([0-9]+)/.exec(metrics)?.[1])).toBeGreaterThanOrEqual(300);
  });

  it('whatever a client says of itself is cut and made safe', async () => {
    const hostile = `\u001b]0;owned\u0007${'é'.repeat(5_000)}`;
    await submit({ 'user-agent': Buffer.from(hostile).toString('latin1') }, 'hostile');
    const [entry] = await entries('?object=research/hostile');
    expect(entry?.userAgent?.length).toBeLessThanOrEqual(300);
    expect(entry?.userAgent).not.toContain('\u001b');
  });
});

describe('reading', () => {
  it.each([
    ['an operator', () => operator],
    ['a viewer', () => viewer],
  ])('%s may not', async (_who, token) => {
    expect(await read('', token())).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  });

  it('an administrator of a project may not read that of another one, nor the cluster’s', async () => {
    expect((await read('', rival)).status).toBe(404);
    expect((await read('', rival, '-')).status).toBe(404);
  });

  it('goes page by page and by every filter, alike over REST and GraphQL', async () => {
    for (let one = 0; one < 5; one++) await submit();
    const all = await entries('?principal=ci&verb=job.create&outcome=allowed&pageSize=500');
    expect(all.length).toBeGreaterThanOrEqual(5);
    const paged: AuditEntry[] = [];
    let pageToken: string | undefined;
    do {
      const { body } = await read(
        `?principal=ci&verb=job.create&outcome=allowed&pageSize=2${pageToken === undefined ? '' : `&pageToken=${pageToken}`}`,
      );
      paged.push(...(body.items as AuditEntry[]));
      pageToken = body.nextPageToken;
    } while (pageToken !== undefined);
    expect(paged).toEqual(all);
    const query = `{ audit(project: "research", principal: "ci", verb: "job.create", outcome: allowed, pageSize: 500) { items { id object requestId } } }`;
    const { body } = await api.send('POST', '/graphql', { token: admin, body: { query } });
    expect(body.data.audit.items).toEqual(all.map(({ id, object, requestId }) => ({ id, object, requestId })));
  });

  it('finds what was between two times, and refuses what is none', async () => {
    const [newest] = await entries('?verb=job.create');
    const at = encodeURIComponent(newest?.at ?? '');
    expect((await entries(`?since=${at}&verb=job.create`)).map(({ id }) => id)).toEqual([newest?.id]);
    expect((await entries(`?until=${at}&verb=job.create`)).map(({ id }) => id)).not.toContain(newest?.id);
    expect(await read('?since=yesterday')).toMatchObject({ status: 400, body: { errors: [{ pointer: '/since' }] } });
  });

  it('a page token opens no other list', async () => {
    const { body } = await read('?pageSize=1');
    expect((await read(`?pageSize=1&pageToken=${body.nextPageToken}`)).status).toBe(200);
    expect((await read(`?outcome=denied&pageToken=${body.nextPageToken}`)).status).toBe(400);
  });
});

describe('the table', () => {
  it.each(["UPDATE audit SET principal_name = 'somebody else'", 'DELETE FROM audit', 'TRUNCATE audit'])(
    '%s is refused by the database',
    async (statement) => {
      await expect(sql(statement)).rejects.toThrow(/append-only|permission denied/);
    },
  );

  it('is rid of what is older than it is kept, in batches, and of nothing else', async () => {
    const { cluster, database } = api.running.infrastructure;
    const before = (await sql('SELECT id FROM audit')).rows.length;
    await sql(
      `INSERT INTO audit (cluster_id, at, action, target) SELECT $1, now() - interval '30 days', 'job.create', 'old'
         FROM generate_series(1, ${RETENTION_BATCH + 1})`,
      [cluster.id],
    );
    expect(await removeSomeOldAudit(database, { cluster, retentionDays: 365 })).toBe(0);
    expect(await removeSomeOldAudit(database, { cluster, retentionDays: 29 })).toBe(RETENTION_BATCH);
    expect(await removeSomeOldAudit(database, { cluster, retentionDays: 29 })).toBe(1);
    expect((await sql('SELECT id FROM audit')).rows).toHaveLength(before);
  });
});

it('an address that a proxy gives is believed of a proxy that is trusted, and of nobody else', async () => {
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  await submit(headers, 'direct');
  const behind = await startApiUnderTest({
    databaseUrl,
    adminToken: api.adminToken,
    environment: { COXSWAIN_TRUSTED_PROXIES: '127.0.0.0/8' },
  });
  try {
    await behind.send('POST', JOBS, { token: operator, headers, body: { name: 'behind', spec: aJobSpec() } });
  } finally {
    await behind.close();
  }
  const addresses = async (name: string) =>
    (await entries(`?object=research/${name}`)).map((entry) => entry.sourceAddress);
  expect([await addresses('direct'), await addresses('behind')]).toEqual([['127.0.0.1'], ['203.0.113.9']]);
});
