/* eslint-disable max-params -- the rows of a table are spread over the parameters of its test */
/** More than 400 lines: one table of requests and answers over one API and one database, which take seconds to start. */
import { aJobSpec } from '@coxswain/api-types/testing';
import { type Postgres, startPostgres, waitFor } from '@coxswain/local-cluster';
import { CONTROLLERS } from './app.module.ts';
import { ruleOfRoute } from './auth/access-rules.ts';
import { freshToken } from './auth/token-format.ts';
import { declaredRoutes } from './http/openapi.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from './testing/api-under-test.ts';

let postgres: Postgres;
let api: ApiUnderTest;
let token: string;
let foreignToken: string;
let viewerToken: string;

beforeAll(async () => {
  postgres = await startPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('api') });
  token = await api.project('research');
  foreignToken = await api.project('rivals');
  const made = await api.send('POST', '/v1/projects/research/tokens', {
    token: api.adminToken,
    body: { name: 'reader', role: 'viewer' },
  });
  viewerToken = made.body.token;
});

afterAll(async () => {
  await api?.close();
  await postgres?.stop();
});

const JOBS = '/v1/projects/research/jobs';
const spec = aJobSpec();
let made = 0;
const freshName = (): string => `job-${++made}`;
const submit = (overrides: object = {}, headers: Record<string, string> = {}): Promise<TestAnswer> =>
  api.send('POST', JOBS, { token, headers, body: { name: freshName(), spec: aJobSpec(), ...overrides } });
const graphql = (query: string, variables: object = {}, as: string = token): Promise<TestAnswer> =>
  api.send('POST', '/graphql', { token: as, body: { query, variables } });

describe('whoever is not allowed', () => {
  it('gets the same 401 for every bad token on every route', async () => {
    const routes = declaredRoutes(CONTROLLERS).filter((route) => ruleOfRoute(route) !== 'public');
    expect(routes.length).toBeGreaterThan(20);
    const bodies = new Set<string>();
    for (const { method, path } of routes) {
      const url = path.replace('{project}', 'research').replace(/\{\w+\}/g, '3f1c2b9e-0000-4000-8000-000000000001');
      for (const bad of [
        undefined,
        'garbage',
        `cxs_00000000_${'A'.repeat(43)}`,
        freshToken().token,
        `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      ]) {
        const answer = await api.send(method as 'GET', url, {
          ...(bad === undefined ? {} : { token: bad }),
          ...(method === 'POST' ? { body: {} } : {}),
        });
        expect({ method, path, status: answer.status }).toEqual({ method, path, status: 401 });
        bodies.add(JSON.stringify({ ...answer.body, instance: '' }));
      }
    }
    expect(bodies.size).toBe(1);
  });

  it('learns nothing about another project: it answers as one that does not exist, over REST and GraphQL', async () => {
    const { body: job } = await submit();
    const sentences = new Set<string>();
    for (const project of ['research', 'nowhere']) {
      for (const url of [
        `/v1/projects/${project}`,
        `/v1/projects/${project}/jobs`,
        `/v1/projects/${project}/jobs/${job.id}`,
        `/v1/projects/${project}/jobs/${job.id}/steps`,
        `/v1/projects/${project}/jobs/${job.id}/events/stream`,
        `/v1/projects/${project}/tokens`,
      ]) {
        const answer = await api.send('GET', url, { token: foreignToken });
        expect({ url, status: answer.status }).toEqual({ url, status: 404 });
        sentences.add(answer.body.detail.replace(project, '…'));
      }
      const answer = await graphql(
        'query ($p: String!, $id: ID!) { job(project: $p, id: $id) { name } }',
        { p: project, id: job.id },
        foreignToken,
      );
      expect(answer.body).toMatchObject({ data: { job: null }, errors: [{ extensions: { code: 'NOT_FOUND' } }] });
      sentences.add(answer.body.errors[0].message.replace(project, '…'));
    }
    expect(sentences.size).toBe(1);
    const own = await api.send('GET', `/v1/projects/rivals/jobs/${job.id}`, { token: foreignToken });
    expect(own).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    expect((await api.send('GET', '/v1/projects', { token: foreignToken })).body.items).toHaveLength(1);
  });

  it.each([
    ['kube-system', /^namespaces: kube-system: it belongs to Kubernetes/],
    ['coxswain-system', /Coxswain itself runs there/],
  ])('%s is no namespace of a project, and nothing is made', async (namespace, detail) => {
    const body = { name: 'greedy', namespaces: ['greedy', namespace] };
    const answer = await api.send('POST', '/v1/projects', { token: api.adminToken, body });
    expect(answer).toMatchObject({
      status: 400,
      body: {
        code: 'INVALID_REQUEST',
        detail: expect.stringMatching(detail) as string,
        errors: [{ pointer: '/namespaces/1' }],
      },
    });
    expect((await api.send('GET', '/v1/projects/greedy', { token: api.adminToken })).status).toBe(404);
  });

  const QUERIES = [
    ['GET', '', undefined, 'query ($p: String!) { project(name: $p) { name } }', {}],
    ['GET', '/jobs', undefined, 'query ($p: String!) { jobs(project: $p) { items { id } } }', {}],
    ['GET', '/tokens', undefined, 'query ($p: String!) { tokens(project: $p) { items { id } } }', {}],
    ['GET', '/layouts', undefined, 'query ($p: String!) { layouts(project: $p) { items { id } } }', {}],
    [
      'POST',
      '/jobs',
      { name: 'y', spec },
      'mutation ($p: String!, $input: JobCreateInput!) { createJob(project: $p, input: $input) { id } }',
      { input: { name: 'z', spec } },
    ],
    [
      'POST',
      '/layouts',
      { layout: {} },
      'mutation ($p: String!) { createLayout(project: $p, input: { layout: {} }) { id } }',
      {},
    ],
    [
      'POST',
      '/tokens',
      { name: 't' },
      'mutation ($p: String!) { createToken(project: $p, input: { name: "t" }) { id } }',
      {},
    ],
  ] as const;
  it.each(QUERIES)('is judged alike by REST %s %s and by GraphQL', async (method, path, body, query, variables) => {
    for (const as of ['operator', 'viewer', 'foreign'] as const) {
      const bearer = { operator: token, viewer: viewerToken, foreign: foreignToken }[as];
      const rest = await api.send(method, `/v1/projects/research${path}`, {
        token: bearer,
        ...(body === undefined ? {} : { body }),
      });
      const { body: answer } = await graphql(query, { p: 'research', ...variables }, bearer);
      const restCode = rest.status < 300 ? 'OK' : rest.body.code;
      expect({ as, code: answer.errors?.[0]?.extensions.code ?? 'OK' }).toEqual({ as, code: restCode });
      expect(restCode).toBe(
        {
          operator: path === '/tokens' ? 'FORBIDDEN' : 'OK',
          viewer: method === 'GET' && path !== '/tokens' ? 'OK' : 'FORBIDDEN',
          foreign: 'NOT_FOUND',
        }[as],
      );
    }
  });

  it('is out within seconds of its token’s revocation', async () => {
    const url = '/v1/projects/research/tokens';
    const { body } = await api.send('POST', url, { token: api.adminToken, body: { name: 'short', role: 'viewer' } });
    expect((await api.send('GET', JOBS, { token: body.token })).status).toBe(200);
    expect((await api.send('DELETE', `${url}/${body.id}`, { token: api.adminToken })).status).toBe(204);
    await waitFor(async () => (await api.send('GET', JOBS, { token: body.token })).status === 401, {
      deadlineMs: 30_000,
      what: 'the token to be refused',
    });
  });
});

describe('GraphQL', () => {
  it('creates, steers and reads a job with the same values as REST', async () => {
    const create =
      'mutation ($input: JobCreateInput!) { createJob(project: "research", input: $input) { id name state specVersion spec { layout { tensorParallelDegree } } } }';
    const made = await graphql(create, { input: { name: freshName(), spec: aJobSpec() } });
    const job = made.body.data.createJob;
    expect(job).toMatchObject({ state: 'Submitting', specVersion: 1, spec: { layout: { tensorParallelDegree: 2 } } });
    const suspended = await graphql(
      'mutation ($id: ID!) { suspendJob(project: "research", id: $id, specVersion: 1) { specVersion } }',
      { id: job.id },
    );
    expect(suspended.body.data.suspendJob.specVersion).toBe(2);
    const rest = await api.send('GET', `${JOBS}/${job.id}`, { token });
    expect(rest.body).toMatchObject({ name: job.name, specVersion: 2, spec: { suspend: true } });
    const who = await graphql('{ whoAmI { name role project } }');
    expect(who.body).toEqual({ data: { whoAmI: { name: 'test', role: 'operator', project: 'research' } } });
  });

  it('gives the pointers of what is wrong', async () => {
    const { body } = await graphql(
      'mutation ($input: JobCreateInput!) { createJob(project: "research", input: $input) { id } }',
      {
        input: { name: 'x', spec: { ...aJobSpec(), layout: { tensorParallelDegree: 3 } } },
      },
    );
    expect(body.errors[0].extensions).toMatchObject({
      code: 'INVALID_LAYOUT',
      errors: [{ pointer: '/spec/layout/tensorParallelDegree' }],
    });
  });

  it.each([
    ['a field that does not exist', '{ whoAmI { password } }'],
    ['a query that is too deep', `{ whoAmI { ${'... on WhoAmI { '.repeat(20)} name ${'}'.repeat(22)}`],
    ['a thousand aliases', `{ ${Array.from({ length: 800 }, (_, index) => `a${index}: whoAmI { name }`).join(' ')} }`],
    ['what is no query', 'hello'],
  ])('refuses %s before anything runs', async (_what, query) => {
    const answer = await graphql(query);
    expect(answer.status).toBe(400);
    expect(answer.body.data).toBeUndefined();
  });

  it('has no schema for the anonymous', async () => {
    const answer = await api.send('POST', '/graphql', { body: { query: '{ __schema { types { name } } }' } });
    expect(answer.status).toBe(401);
  });
});

describe('the API', () => {
  it('describes every route with its answer', async () => {
    for (const route of declaredRoutes(CONTROLLERS))
      expect({ name: route.name, answer: route.answer }).toMatchObject({ answer: expect.anything() });
    const { body } = await api.send('GET', '/openapi.json');
    expect(body.openapi).toBe('3.1.0');
    const references = JSON.stringify(body).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g);
    for (const [, name] of references) expect(body.components.schemas).toHaveProperty([name ?? '']);
  });

  it('shows no secret in its document, lists or tables', async () => {
    const listed = await api.send('GET', '/v1/projects/research/tokens', { token: api.adminToken });
    expect(JSON.stringify(listed.body)).not.toContain(token.split('_')[2]);
    const rows = await api.running.infrastructure.database.query<{ row: string }>(
      'SELECT t::text AS row FROM api_tokens t',
    );
    for (const { row } of rows.rows) expect(row).not.toContain(token.split('_')[2] ?? 'none');
  });

  it.each([
    ['for what it does not have', '/v1/nothing', 404, 'NOT_FOUND'],
    ['for a name that is too long for anything', `/v1/projects/${'a'.repeat(301)}`, 404, 'NOT_FOUND'],
    ['for an address that is none', '/v1/projects/%zz', 400, 'INVALID_REQUEST'],
  ])('answers a problem %s', async (_what, url, status, code) => {
    const answer = await api.send('GET', url, { token });
    expect(answer).toMatchObject({ status, body: { code }, headers: { 'cache-control': 'no-store' } });
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
  });

  it('says 503 with Retry-After while the database is away, and serves again by itself', async () => {
    await postgres.pause();
    const away = await api.send('GET', JOBS, { token });
    expect(away).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' }, headers: { 'retry-after': '1' } });
    expect((await api.send('GET', '/healthz')).status).toBe(200);
    expect((await api.send('GET', '/readyz')).status).toBe(503);
    await postgres.start();
    await waitFor(async () => (await api.send('GET', JOBS, { token })).status === 200, { what: 'jobs to be served' });
  });
});
