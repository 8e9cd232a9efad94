/** More than 400 lines: one API and one database serve all that REST says of jobs, and starting others takes longer than most of it. */
/* eslint-disable max-params -- the rows of a table are spread over the parameters of its test */
import { aJobSpec } from '@coxswain/api-types/testing';
import { JobCreate } from '@coxswain/api-types';
import type { SharedPostgres } from '@coxswain/test-harness';
import { hashOf } from '../http/idempotency.ts';
import { removeSomeExpiredKeys } from '../http/key-expiry.ts';
import { sweepRecords } from '../records/record-retention.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

let postgres: SharedPostgres;
let api: ApiUnderTest;
let token: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('jobs') });
  token = await api.project('research');
});

afterAll(async () => {
  await api?.close();
});

const JOBS = '/v1/projects/research/jobs';
const spec = aJobSpec();
let made = 0;
const freshName = (): string => `job-${++made}`;
const submit = (overrides: object = {}, headers: Record<string, string> = {}): Promise<TestAnswer> =>
  api.send('POST', JOBS, { token, headers, body: { name: freshName(), spec: aJobSpec(), ...overrides } });
const count = async (sql: string, parameters: readonly unknown[]): Promise<number> =>
  (await api.running.infrastructure.database.query(sql, parameters)).rows.length;

describe('a job over REST', () => {
  it('is recorded with an outbox entry, and can be read and listed', async () => {
    const created = await submit({ name: 'first' });
    expect(created).toMatchObject({ status: 201, body: { namespace: 'research', state: 'Submitting', uid: null } });
    expect(created.headers['etag']).toMatch(/^"1\.[\w-]{22}"$/);
    const read = await api.send('GET', `${JOBS}/${created.body.id}`, { token });
    expect(read.body).toEqual(created.body);
    expect(read.headers['etag']).toBe(created.headers['etag']);
    const listed = await api.send('GET', JOBS, { token });
    expect(listed.body.items.map((job: { name: string }) => job.name)).toContain('first');
    expect(await count('SELECT 1 FROM outbox WHERE job_id = $1', [created.body.id])).toBe(1);
  });

  it('with a spec of more than 128 kB is refused with its size and the limit', async () => {
    const env = Array.from({ length: 60 }, (_, index) => ({ name: `TEXT_${index}`, value: 'x'.repeat(4_000) }));
    const refused = await submit({ spec: aJobSpec({ engine: { ...spec.engine, env } }) });
    expect(refused).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', errors: [{ pointer: '/spec' }] } });
    expect(refused.body.detail).toMatch(/has 2\d{5} bytes as JSON; at most 131072 \(128 kB\) are allowed/);
  });

  it('cannot take a name that is in use', async () => {
    await submit({ name: 'twice' });
    expect(await submit({ name: 'twice' })).toMatchObject({ status: 409, body: { code: 'NAME_TAKEN' } });
  });

  it('changes only at the version of its spec that If-Match names, and its status changes nothing there', async () => {
    const { body, headers: made } = await submit();
    const { database } = api.running.infrastructure;
    await database.query("UPDATE jobs SET summary = 'It trains.', version = version + 1 WHERE id = $1", [body.id]);
    const read = await api.send('GET', `${JOBS}/${body.id}`, { token });
    expect(read.headers['etag']).not.toBe(made['etag']);
    const stale = await api.send('POST', `${JOBS}/${body.id}/suspend`, { token, headers: { 'if-match': '"7"' } });
    expect(stale).toMatchObject({ status: 412, body: { code: 'PRECONDITION_FAILED' } });
    const fresh = await api.send('POST', `${JOBS}/${body.id}/suspend`, {
      token,
      headers: { 'if-match': String(made['etag']) },
    });
    expect(fresh).toMatchObject({ status: 200, body: { specVersion: 2, spec: { suspend: true } } });
  });

  it('is not sent again to who has it as it is, until anything of it changes', async () => {
    const { body } = await submit();
    const url = `${JOBS}/${body.id}`;
    const first = await api.send('GET', url, { token });
    expect(first.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'authorization, cookie' });
    const headers = { 'if-none-match': String(first.headers['etag']) };
    expect(await api.send('GET', url, { token, headers })).toMatchObject({ status: 304, body: '' });
    const { database } = api.running.infrastructure;
    await database.query("UPDATE jobs SET summary = 'It trains.' WHERE id = $1", [body.id]);
    const changed = await api.send('GET', url, { token, headers });
    expect(changed).toMatchObject({ status: 200, body: { summary: 'It trains.', specVersion: 1 } });
    expect(await api.send('GET', url, { headers })).toMatchObject({
      status: 401,
      headers: { 'cache-control': 'no-store' },
    });
  });

  it('lets one of many writers of the same version win', async () => {
    const { body } = await submit();
    const headers = { 'if-match': '"1"' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.send('POST', `${JOBS}/${body.id}/cancel`, { token, headers })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(412)]);
  });

  it('resumes only when suspended, and never once cancelled', async () => {
    const { body } = await submit();
    const post = (what: string): Promise<TestAnswer> => api.send('POST', `${JOBS}/${body.id}/${what}`, { token });
    expect((await post('resume')).body.code).toBe('NOT_SUSPENDED');
    await post('suspend');
    expect((await post('cancel')).body.spec).toMatchObject({ suspend: true, cancel: true });
    expect((await post('resume')).body.code).toBe('CONFLICT');
  });

  it('refuses a resume on a layout that does not divide, with the pointer', async () => {
    const { body } = await submit();
    await api.send('POST', `${JOBS}/${body.id}/suspend`, { token });
    const layout = { tensorParallelDegree: 3 };
    const answer = await api.send('POST', `${JOBS}/${body.id}/resume`, { token, body: { layout } });
    expect(answer).toMatchObject({
      status: 422,
      body: { code: 'INVALID_LAYOUT', errors: [{ pointer: '/layout/tensorParallelDegree' }] },
    });
  });
});

describe('a job that names a PriorityClass', () => {
  const withClass = (): Promise<TestAnswer> => submit({ spec: { ...aJobSpec(), priorityClassName: 'urgent' } });
  const allow = (priorityClasses: readonly string[], as: string = api.adminToken): Promise<TestAnswer> =>
    api.send('PATCH', '/v1/projects/research', { token: as, body: { priorityClasses } });

  it('is refused until an administrator of the cluster lets its project use the class, and is shown which it may use', async () => {
    const refused = await withClass();
    expect([refused.status, refused.body.errors?.[0]]).toMatchObject([
      400,
      { pointer: '/spec/priorityClassName', detail: expect.stringContaining('may use none but the default') },
    ]);
    expect((await allow(['urgent'], token)).status).toBe(403);
    expect((await allow(['urgent', 'high', 'high'])).body).toMatchObject({ priorityClasses: ['high', 'urgent'] });
    const made = await withClass();
    expect([made.status, made.body.spec.priorityClassName]).toEqual([201, 'urgent']);
    await allow(['high']);
    expect((await withClass()).body.detail).toContain('it may use high');
    const check = { token, body: { name: 'checked', spec: { ...aJobSpec(), priorityClassName: 'urgent' } } };
    const { body } = await api.send('POST', `${JOBS}/check`, check);
    expect(body.obstacles).toContainEqual(
      expect.objectContaining({ field: 'spec.priorityClassName', effect: 'NeedsChange' }),
    );
    expect((await allow([])).body.priorityClasses).toEqual([]);
  });
});

describe('an Idempotency-Key', () => {
  it('gives a repetition the same answer and makes one job', async () => {
    const body = { name: freshName(), spec: aJobSpec() };
    const headers = { 'idempotency-key': 'once' };
    const first = await api.send('POST', JOBS, { token, headers, body });
    const again = await api.send('POST', JOBS, { token, headers, body });
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(await count('SELECT 1 FROM jobs WHERE name = $1', [body.name])).toBe(1);
  });

  it('answers what the release before stored, whose jobs had no labels', async () => {
    const { labels, ...body } = JobCreate.parse({ name: freshName(), spec: aJobSpec() });
    expect(labels).toEqual({});
    const headers = { 'idempotency-key': 'earlier' };
    const first = await api.send('POST', JOBS, { token, headers, body });
    await api.running.infrastructure.database.query(
      "UPDATE idempotency_keys SET request_sha256 = $1 WHERE key = 'earlier'",
      [hashOf({ request: { create: 'research', body } })],
    );
    expect(await api.send('POST', JOBS, { token, headers, body })).toMatchObject({ status: 201, body: first.body });
  });

  it('answers a repetition with the job as it is by then, and keeps no more of it than its id', async () => {
    const env = Array.from({ length: 30 }, (_, index) => ({ name: `TEXT_${index}`, value: 'x'.repeat(4_000) }));
    const body = { name: freshName(), spec: aJobSpec({ engine: { ...spec.engine, env } }) };
    const headers = { 'idempotency-key': 'large' };
    const { database } = api.running.infrastructure;
    const first = await api.send('POST', JOBS, { token, headers, body });
    expect(first.status).toBe(201);
    const stored = await database.query<{ bytes: number }>(
      "SELECT octet_length(response::text) AS bytes FROM idempotency_keys WHERE key = 'large'",
    );
    expect(stored.rows[0]?.bytes).toBeLessThan(1_000);
    await api.send('POST', `${JOBS}/${first.body.id}/suspend`, { token });
    const read = await api.send('GET', `${JOBS}/${first.body.id}`, { token });
    const again = await api.send('POST', JOBS, { token, headers, body });
    expect(again).toMatchObject({ status: 201, body: read.body });
    expect(again.headers['etag']).toBe(read.headers['etag']);
    await api.send('DELETE', `${JOBS}/${first.body.id}`, { token });
    expect((await api.send('POST', JOBS, { token, headers, body })).body).toMatchObject({
      id: first.body.id,
      state: 'Deleting',
    });
  });

  it('makes no second job when the record of the first was removed, and says so', async () => {
    const body = { name: freshName(), spec: aJobSpec() };
    const headers = { 'idempotency-key': 'removed' };
    const { database, cluster, logger } = api.running.infrastructure;
    const first = await api.send('POST', JOBS, { token, headers, body });
    await database.query("UPDATE jobs SET state = 'Deleted', deleted_at = now() - interval '2 days' WHERE id = $1", [
      first.body.id,
    ]);
    await database.query('DELETE FROM outbox WHERE job_id = $1', [first.body.id]);
    await sweepRecords({ database, cluster, bounds: { ofProject: 0, days: 1 }, logger }, new AbortController().signal);
    for (const path of ['', '/events', '/steps', '/events/stream'])
      expect((await api.send('GET', `${JOBS}/${first.body.id}${path}`, { token })).body.code).toBe('NOT_FOUND');
    const again = await api.send('POST', JOBS, { token, headers, body });
    expect(again).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    expect(again.body.detail).toMatch(/its record was removed; use a new key to make another one/);
    expect(await count('SELECT 1 FROM jobs WHERE name = $1', [body.name])).toBe(0);
  });

  it('is refused for another body', async () => {
    const headers = { 'idempotency-key': 'other' };
    await submit({}, headers);
    expect(await submit({}, headers)).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
  });

  it('is forgotten after a day, and only then', async () => {
    for (const key of ['old', 'young']) await submit({}, { 'idempotency-key': key });
    const { database } = api.running.infrastructure;
    await database.query("UPDATE idempotency_keys SET created_at = now() - interval '24 hours' WHERE key = 'old'");
    expect(await removeSomeExpiredKeys(database)).toBe(1);
    expect(await count('SELECT 1 FROM idempotency_keys WHERE key = ANY ($1)', [['old', 'young']])).toBe(1);
  });

  it('makes one job however many copies arrive at once; the rest are told to wait', async () => {
    const body = { name: freshName(), spec: aJobSpec() };
    const headers = { 'idempotency-key': 'storm' };
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => api.send('POST', JOBS, { token, headers, body })),
    );
    const statuses = new Set(answers.map(({ status }) => status));
    statuses.delete(409);
    expect([...statuses]).toEqual([201]);
    expect(new Set(answers.flatMap(({ status, body: job }) => (status === 201 ? [job.id] : []))).size).toBe(1);
    expect(await count('SELECT 1 FROM jobs WHERE name = $1', [body.name])).toBe(1);
  });
});

describe('a list', () => {
  it('gives every job once over its pages, newest first', async () => {
    for (let index = 0; index < 7; index++) await submit();
    const seen: string[] = [];
    let pageToken: string | undefined;
    do {
      const query: string = pageToken === undefined ? '' : `&pageToken=${encodeURIComponent(pageToken)}`;
      const { body } = await api.send('GET', `${JOBS}?pageSize=3${query}`, { token });
      seen.push(...(body.items as { id: string }[]).map(({ id }) => id));
      pageToken = body.nextPageToken as string | undefined;
    } while (pageToken !== undefined);
    const whole = await api.send('GET', `${JOBS}?pageSize=500`, { token });
    expect(seen).toEqual((whole.body.items as { id: string }[]).map(({ id }) => id));
    expect(new Set(seen).size).toBe(seen.length);
  });

  it.each([
    ['a page larger than the cap', 'pageSize=501'],
    ['a page token of somebody’s own making', 'pageToken=abc.def'],
    ['an unknown parameter', 'order=name'],
  ])('refuses %s', async (_what, query) => {
    expect(await api.send('GET', `${JOBS}?${query}`, { token })).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST' },
    });
  });
});

describe('jobs are found', () => {
  let finder: string;
  const FOUND = '/v1/projects/finding/jobs';
  const named = async (query: string): Promise<readonly string[]> => {
    const { status, body } = await api.send('GET', `${FOUND}?${query}`, { token: finder });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return (body.items as { name: string }[]).map(({ name }) => name);
  };

  beforeAll(async () => {
    finder = await api.project('finding');
    const made: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['llama-70b-a', { team: 'vision', stage: 'old' }],
      ['llama-8b', { team: 'vision' }],
      ['b-llama', { team: 'speech', 'example.com/cost': '' }],
      ['tiny-gpt', {}],
    ];
    for (const [name, labels] of made) {
      const body = { name, labels, spec: aJobSpec() };
      expect(await api.send('POST', FOUND, { token: finder, body })).toMatchObject({ status: 201, body: { labels } });
    }
    await api.send('POST', FOUND.replace('finding', 'research'), {
      token,
      body: { name: 'llama-elsewhere', labels: { team: 'vision' }, spec: aJobSpec() },
    });
  });

  it.each<[string, string, readonly string[]]>([
    ['newest first', '', ['tiny-gpt', 'b-llama', 'llama-8b', 'llama-70b-a']],
    ['oldest first', 'direction=asc', ['llama-70b-a', 'llama-8b', 'b-llama', 'tiny-gpt']],
    ['by name', 'orderBy=name', ['b-llama', 'llama-70b-a', 'llama-8b', 'tiny-gpt']],
    ['by name from the end', 'orderBy=name&direction=desc', ['tiny-gpt', 'llama-8b', 'llama-70b-a', 'b-llama']],
    ['by their end, where they have one', 'orderBy=finishedAt', []],
    ['by a label', 'labelSelector=team%3Dvision', ['llama-8b', 'llama-70b-a']],
    ['by what a label is not, or is not there', 'labelSelector=team!%3Dvision', ['tiny-gpt', 'b-llama']],
    ['by one of several values', 'labelSelector=team in (vision,speech),stage notin (old)', ['b-llama', 'llama-8b']],
    ['by a key', 'labelSelector=example.com/cost', ['b-llama']],
    ['by a key that is not there', 'labelSelector=!team', ['tiny-gpt']],
    ['by an empty value', 'labelSelector=example.com/cost%3D', ['b-llama']],
    ['by how a name begins', 'q=lla', ['b-llama', 'llama-8b', 'llama-70b-a']],
    ['by several words, whatever their case', 'q=LLAMA 70', ['llama-70b-a']],
    ['by no middle of a word', 'q=lama', []],
    ['by no pattern', 'q=l-a', []],
    ['by who made them', 'owner=test&orderBy=name&q=tiny', ['tiny-gpt']],
    ['by somebody who made none', 'owner=eve', []],
  ])('%s', async (_sentence, query, want) => {
    expect(await named(query.replaceAll(' ', '%20'))).toEqual(want);
  });

  it('over pages, each with the parameters of the first', async () => {
    for (const order of ['orderBy=name', 'orderBy=name&direction=desc', 'labelSelector=team']) {
      const whole = await named(order);
      const first = await api.send('GET', `${FOUND}?pageSize=1&${order}`, { token: finder });
      const pageToken = encodeURIComponent(first.body.nextPageToken as string);
      expect(await named(`pageSize=1&${order}&pageToken=${pageToken}`)).toEqual(whole.slice(1, 2));
      for (const other of [
        '',
        'orderBy=createdAt&direction=asc',
        'labelSelector=stage',
        `${order}&q=llama`,
        `${order}&owner=test`,
      ]) {
        const answer = await api.send('GET', `${FOUND}?${other}&pageToken=${pageToken}`, { token: finder });
        expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/pageToken' }] } });
      }
    }
  });

  it.each([
    ['a selector that cannot be read', 'labelSelector=team in vision', '/labelSelector'],
    ['a word that no name holds', 'q=100%25', '/q/0'],
    ['an order that there is not', 'orderBy=state', '/orderBy'],
  ])('or told what is wrong with %s', async (_what, query, pointer) => {
    const answer = await api.send('GET', `${FOUND}?${query.replaceAll(' ', '%20')}`, { token: finder });
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', errors: [{ pointer }] } });
  });

  it('by labels as they were changed, at the version that was meant', async () => {
    const { body: list } = await api.send('GET', `${FOUND}?q=tiny`, { token: finder });
    const url = `${FOUND}/${list.items[0].id}`;
    const patch = (labels: object, ifMatch: string): Promise<TestAnswer> =>
      api.send('PATCH', url, { token: finder, body: { labels }, headers: { 'if-match': ifMatch } });
    expect(await patch({ team: 'text', 'a.b/c': 'd' }, '"1"')).toMatchObject({
      status: 200,
      body: { specVersion: 2, labels: { 'a.b/c': 'd', team: 'text' } },
    });
    expect(await named('labelSelector=team%3Dtext')).toEqual(['tiny-gpt']);
    expect((await patch({ team: 'late' }, '"1"')).status).toBe(412);
    expect((await patch({ team: null }, '"2"')).body).toMatchObject({ specVersion: 3, labels: { 'a.b/c': 'd' } });
    expect((await patch({ team: null }, '"3"')).body).toMatchObject({ specVersion: 3 });
    expect(await named('labelSelector=team%3Dtext')).toEqual([]);
    const reserved = await patch({ 'training.coxswain.dev/job-id': 'x' }, '*');
    expect(reserved).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(reserved.body.detail).toMatch(/written by Kubernetes and by Coxswain/);
  });
});

describe('bad input is refused with status and sentence:', () => {
  const deep = `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`;
  const cases: readonly (readonly [string, unknown, number, string, string, RegExp])[] = [
    ['an unknown field', { name: 'x', spec, owner: 'me' }, 400, 'INVALID_REQUEST', '/owner', /unknown field "owner"/],
    [
      'an unknown field deep inside',
      { name: 'x', spec: { ...spec, model: { ...spec.model, heads: 4 } } },
      400,
      'INVALID_REQUEST',
      '/spec/model/heads',
      /unknown field "heads"/,
    ],
    [
      'a wrong type',
      { name: 'x', spec: { ...spec, training: { ...spec.training, steps: 'many' } } },
      400,
      'INVALID_REQUEST',
      '/spec/training/steps',
      /must be a (whole )?number/,
    ],
    [
      'degrees that do not divide',
      { name: 'x', spec: { ...spec, layout: { tensorParallelDegree: 3 } } },
      422,
      'INVALID_LAYOUT',
      '/spec/layout/tensorParallelDegree',
      /tensorParallelDegree 3 does not divide attentionHeads 4/,
    ],
    [
      'too many GPUs',
      {
        name: 'x',
        spec: {
          ...spec,
          engine: { name: 'command', image: 'i', command: ['c'] },
          model: undefined,
          training: undefined,
          layout: { tensorParallelDegree: 32768, dataParallelDegree: 2 },
        },
      },
      422,
      'INVALID_LAYOUT',
      '/spec/layout/dataParallelDegree',
      /65536 GPUs; at most 32768/,
    ],
    [
      'a missing part',
      { name: 'x', spec: { ...spec, data: undefined } },
      400,
      'INVALID_REQUEST',
      '/spec/data',
      /needs data/,
    ],
    [
      'a name of 300 characters',
      { name: 'a'.repeat(300), spec },
      400,
      'INVALID_REQUEST',
      '/name',
      /at most 63 characters/,
    ],
    [
      'a namespace of somebody else',
      { name: 'x', namespace: 'rivals', spec },
      400,
      'INVALID_REQUEST',
      '/namespace',
      /does not own it; it owns research/,
    ],
    ['no body', undefined, 400, 'INVALID_REQUEST', '', /is missing; give an object/],
    ['a body that is not JSON', '{"name":', 400, 'INVALID_REQUEST', '', /not JSON/],
    ['a body of 2 MB', `{"name":"${'a'.repeat(2_097_152)}"}`, 413, 'TOO_LARGE', '', /1 MB/],
    ['deep nesting', deep, 400, 'INVALID_REQUEST', '', /more than 32 levels deep/],
    ['a poisoned prototype', '{"__proto__":{"admin":true}}', 400, 'INVALID_REQUEST', '', /"__proto__"/],
    [
      'a poisoned constructor',
      '{"name":"x","constructor":{"prototype":{}}}',
      400,
      'INVALID_REQUEST',
      '',
      /"constructor"|"prototype"/,
    ],
    [
      'a plain token',
      { name: 'x', spec: { ...spec, engine: { ...spec.engine, env: [{ name: 'HF_TOKEN', value: 'anything' }] } } },
      400,
      'INVALID_REQUEST',
      '/spec/engine/env/0/value',
      /looks like a credential.*Put it into a Secret/,
    ],
    [
      'a variable of ours',
      { name: 'x', spec: { ...spec, engine: { ...spec.engine, env: [{ name: 'COXSWAIN_EPOCH', value: '1' }] } } },
      400,
      'INVALID_REQUEST',
      '/spec/engine/env/0/name',
      /written by the operator/,
    ],
  ];
  it.each(cases)('%s', async (_what, body, status, code, pointer, sentence) => {
    const answer = await api.send('POST', JOBS, { token, body, headers: { 'content-type': 'application/json' } });
    expect(answer).toMatchObject({ status, body: { code, status } });
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.body.detail).toMatch(sentence);
    if (pointer !== '')
      expect(answer.body.errors.map((fault: { pointer: string }) => fault.pointer)).toContain(pointer);
  });

  it('another content type', async () => {
    const answer = await api.send('POST', JOBS, {
      token,
      body: 'name=x',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
  });
});

describe('a list of large jobs', () => {
  const LARGE = '/v1/projects/large/jobs';
  const COUNT = 20;
  let largeToken: string;

  beforeAll(async () => {
    largeToken = await api.project('large');
    for (let index = 0; index < COUNT; index++) {
      await api.send('POST', LARGE, { token: largeToken, body: { name: `large-${index}`, spec: aJobSpec() } });
    }
    // As a job that came by kubectl: its spec was never held against our limit.
    await api.running.infrastructure.database.query(
      `UPDATE jobs SET spec = jsonb_set(spec, '{engine,env}', (SELECT jsonb_agg(jsonb_build_object('name', 'A' || n, 'value', repeat('x', 4000))) FROM generate_series(1, 100) AS n))
        WHERE name LIKE 'large-%'`,
    );
  });

  /** Follows the cursor to the end: names and bytes of each page. */
  const pages = async (
    query: string,
  ): Promise<readonly { readonly names: readonly string[]; readonly bytes: number }[]> => {
    const found = [];
    for (let token = ''; ;) {
      const { status, body } = await api.send('GET', `${LARGE}?${query}${token}`, { token: largeToken });
      expect(status).toBe(200);
      const names = body.items.map((job: { name: string }) => job.name) as string[];
      found.push({ names, bytes: JSON.stringify(body).length });
      if (body.nextPageToken === undefined) return found;
      token = `&pageToken=${encodeURIComponent(body.nextPageToken as string)}`;
    }
  };

  it('answers summaries of a few kB, all in one page', async () => {
    const [page, ...more] = await pages('pageSize=500');
    expect(more).toEqual([]);
    expect(page?.names).toHaveLength(COUNT);
    expect(page?.bytes).toBeLessThan(COUNT * 2_000);
  });

  it('ends pages by bytes where specs are asked for, and its cursor goes on to every job once', async () => {
    const found = await pages('pageSize=500&fields=spec');
    expect(found.length).toBe(COUNT / 2);
    for (const { bytes } of found) expect(bytes).toBeLessThan(1_100_000);
    expect(found.flatMap(({ names }) => names)).toEqual(
      Array.from({ length: COUNT }, (_, index) => `large-${COUNT - 1 - index}`),
    );
  });

  it('is as bounded by GraphQL, whose selection says what is read', async () => {
    const ask = async (items: string): Promise<TestAnswer> =>
      api.send('POST', '/graphql', {
        token: largeToken,
        body: { query: `{ jobs(project: "large", pageSize: 500) { items { ${items} } } }` },
      });
    expect((await ask('name')).body.data.jobs.items).toHaveLength(COUNT);
    expect((await ask('name spec { engine { env { value } } }')).body.data.jobs.items).toHaveLength(2);
  });

  it('refuses a detail that there is not', async () => {
    const { status, body } = await api.send('GET', `${LARGE}?fields=secrets`, { token: largeToken });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'INVALID_REQUEST' });
  });
});
