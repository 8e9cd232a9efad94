import { aJobSpec } from '@coxswain/api-types/testing';
import type { SharedPostgres } from '@coxswain/test-harness';
import { CONTROLLERS } from './app.module.ts';
import { declaredRoutes } from './http/openapi.ts';
import { aPlanRequest } from './testing/a-plan-request.ts';
import { routeQuestion, type Things } from './testing/access-questions.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from './testing/api-under-test.ts';
import { migratedPostgres } from './testing/test-database.ts';

/*
 * Every POST of the router, sent twice under one Idempotency-Key: it is done once and answered alike, or refused before anything is done. A new route
 * is here by itself; if it makes something, it must be among those that honour a key.
 */

/** What makes something whose answer can be kept. */
const CREATES: ReadonlySet<string> = new Set([
  'POST /v1/projects',
  'POST /v1/projects/{project}/jobs',
  'POST /v1/projects/{project}/layouts',
  'POST /v1/projects/{project}/plans',
  'POST /v1/projects/{project}/group-roles',
]);
/** What makes another request of one. */
const OTHERWISE: Readonly<Record<string, object>> = {
  'POST /v1/projects/{project}/plans': { top: 1 },
  'POST /v1/projects/{project}/group-roles': { role: 'operator' },
};
const POSTS = declaredRoutes(CONTROLLERS).filter(({ method }) => method === 'POST');
const nameOf = ({ method, path }: (typeof POSTS)[number]): string => `${method} ${path}`;

let postgres: SharedPostgres;
let api: ApiUnderTest;
let databaseUrl: string;
let things: Things;

beforeAll(async () => {
  postgres = migratedPostgres();
  databaseUrl = await postgres.createDatabase('idempotency');
  api = await startApiUnderTest({
    databaseUrl,
    // Whose groups are given roles; nobody asks it for anything.
    environment: {
      COXSWAIN_PUBLIC_URL: 'https://coxswain.example.com',
      COXSWAIN_OIDC_ISSUER_URL: 'https://accounts.example.com',
      COXSWAIN_OIDC_CLIENT_ID: 'page',
    },
  });
  await api.project('research');
  const make = async (what: string, body: object): Promise<string> =>
    (await api.send('POST', `/v1/projects/research/${what}`, { token: api.adminToken, body })).body.id;
  things = {
    project: 'research',
    jobId: await make('jobs', { name: 'there', spec: aJobSpec() }),
    tokenId: await make('tokens', { name: 'there' }),
    layoutId: await make('layouts', { name: 'there', layout: { tensorParallelDegree: 2 } }),
    planId: await make('plans', aPlanRequest()),
    webhookId: await make('webhooks', { url: 'https://hooks.example.com/' }),
    uid: 'none',
  };
});

afterAll(async () => {
  await api?.close();
});

const ask = (url: string, body: unknown, key: string): Promise<TestAnswer> =>
  api.send('POST', url, { token: api.adminToken, body, headers: { 'idempotency-key': key } });
const written = async (): Promise<number> =>
  (await api.running.infrastructure.database.query('SELECT 1 FROM audit')).rows.length;

describe('an Idempotency-Key', () => {
  it('is honoured by those routes, and the OpenAPI document says so of them', () => {
    const read = POSTS.filter(({ headers }) => headers.some(({ name }) => name === 'Idempotency-Key'));
    expect(new Set(read.map(nameOf))).toEqual(CREATES);
  });

  it('is asked of every POST that is served', () => {
    const served = api.running.routes.filter(({ method }) => method === 'POST').map(({ path }) => `POST ${path}`);
    expect(new Set(served)).toEqual(new Set(POSTS.map(nameOf)));
  });

  it.each(POSTS.filter((route) => CREATES.has(nameOf(route))).map(nameOf))(
    '%s is done once under it, and the key is good for nothing else',
    async (route) => {
      const { url, body } = routeQuestion(route, things);
      const first = await ask(url, body, `key of ${route}`.replaceAll(' ', '-'));
      expect({ route, status: first.status }).toEqual({ route, status: 201 });
      const before = await written();
      const again = await ask(url, body, `key of ${route}`.replaceAll(' ', '-'));
      expect(again).toMatchObject({ status: 201, body: first.body });
      const other = { ...body, ...(OTHERWISE[route] ?? { name: 'another' }) };
      expect(await ask(url, other, `key of ${route}`.replaceAll(' ', '-'))).toMatchObject({
        status: 422,
        body: { code: 'IDEMPOTENCY_KEY_REUSED' },
      });
      expect(await written()).toBe(before);
    },
  );

  it.each(POSTS.filter((route) => !CREATES.has(nameOf(route))).map(nameOf))(
    '%s refuses it, says what to do instead, and does nothing',
    async (route) => {
      const { url, body } = routeQuestion(route, things);
      const before = await written();
      const answer = await ask(url, body, 'a-key');
      expect({ route, ...answer }).toMatchObject({ route, status: 400, body: { code: 'INVALID_REQUEST' } });
      expect(answer.body.detail).toMatch(/honours no Idempotency-Key: .+\. .+/);
      expect(await written()).toBe(before);
    },
  );

  it('is an argument of the mutations that make something', async () => {
    const query =
      'mutation ($input: LayoutCreateInput!, $key: String) { createLayout(project: "research", input: $input, idempotencyKey: $key) { id } }';
    const make = (name: string): Promise<TestAnswer> =>
      api.send('POST', '/graphql', {
        token: api.adminToken,
        body: { query, variables: { input: { name, layout: { tensorParallelDegree: 2 } }, key: 'by-graphql' } },
      });
    const first = await make('once');
    expect(first.body.data.createLayout.id).toMatch(/^[0-9a-f-]{36}$/);
    expect((await make('once')).body.data).toEqual(first.body.data);
    expect((await make('another')).body.errors[0].extensions.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('is another at the API of another cluster on the same database: neither answers for the other, or is held up by it', async () => {
    const environment = { COXSWAIN_CLUSTER_NAME: 'beta', COXSWAIN_DASHBOARD_DIRECTORY: '/nonexistent' };
    const beta = await startApiUnderTest({ databaseUrl, adminToken: api.adminToken, environment });
    try {
      const make = (at: ApiUnderTest, name: string): Promise<TestAnswer> =>
        at.send('POST', '/v1/projects', {
          token: api.adminToken,
          body: { name, namespaces: [name] },
          headers: { 'idempotency-key': 'in-both' },
        });
      const [alphas, betas] = [await make(api, 'shared'), await make(beta, 'shared')];
      expect([alphas.status, betas.status]).toEqual([201, 201]);
      expect(betas.body.createdAt).not.toBe(alphas.body.createdAt);
      expect((await make(api, 'shared')).body).toEqual(alphas.body);
      expect((await make(beta, 'shared')).body).toEqual(betas.body);
      expect((await make(beta, 'another')).body.code).toBe('IDEMPOTENCY_KEY_REUSED');
    } finally {
      await beta.close();
    }
  });
});
