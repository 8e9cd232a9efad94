import { aJobSpec } from '@coxswain/api-types/testing';
import type { SharedPostgres } from '@coxswain/test-harness';
import { ROUTE_RULES } from './auth/access-rules.ts';
import { aPlanRequest } from './testing/a-plan-request.ts';
import { routeQuestion, type Things } from './testing/access-questions.ts';
import { type ApiUnderTest, startApiUnderTest } from './testing/api-under-test.ts';
import { mirrorCheckpoint } from './testing/mirrored-checkpoint.ts';
import { migratedPostgres } from './testing/test-database.ts';

/*
 * The API's own filters, without the policies of the database: the role that serves requests is a superuser here. That the policies hold without the
 * filters is shown in libs/persistence/src/access/access.itest.ts. Each wall stands alone.
 */

let postgres: SharedPostgres;
let api: ApiUnderTest;
let stranger: string;
let things: Things;

beforeAll(async () => {
  postgres = migratedPostgres();
  const databaseUrl = await postgres.createDatabase('walls');
  api = await startApiUnderTest({
    databaseUrl,
    environment: { DATABASE_URL: databaseUrl, COXSWAIN_DATABASE_SINGLE_ROLE: 'true' },
  });
  const ours = await api.project('research', 'admin');
  stranger = await api.project('rivals', 'admin');
  const made = async (url: string, body: object): Promise<string> =>
    (await api.send('POST', url, { token: ours, body })).body.id as string;
  const jobId = await made('/v1/projects/research/jobs', { name: 'secret', spec: aJobSpec() });
  things = {
    project: 'research',
    jobId,
    uid: (await mirrorCheckpoint(api, { jobId })).metadata.uid ?? '',
    tokenId: await made('/v1/projects/research/tokens', { name: 'secret', role: 'viewer' }),
    layoutId: await made('/v1/projects/research/layouts', { name: 'secret', layout: { tensorParallelDegree: 4 } }),
    planId: await made('/v1/projects/research/plans', aPlanRequest()),
    webhookId: await made('/v1/projects/research/webhooks', { url: 'https://hooks.example.com/' }),
  };
});

afterAll(async () => {
  await api?.close();
});

it('begins with a role that no policy binds', async () => {
  const seen = await api.running.infrastructure.tenantDatabase.within(
    { clusterId: things.jobId, principalId: things.jobId, reach: { kind: 'projects', ids: [] } },
    (sql) => sql.query('SELECT FROM jobs'),
  );
  expect(seen.rows).toHaveLength(1);
});

const routes = Object.keys(ROUTE_RULES).filter((route) =>
  /\{(jobId|tokenId|layoutId|planId|webhookId|uid)\}/.test(route),
);

it.each(routes)('%s finds nothing of another project, under its name or under the own one', async (route) => {
  for (const project of ['research', 'rivals']) {
    const { method, url, body } = routeQuestion(route, { ...things, project });
    const answer = await api.send(method, url, { token: stranger, ...(body === undefined ? {} : { body }) });
    expect({ project, status: answer.status }).toEqual({ project, status: 404 });
  }
});

it.each(['jobs', 'layouts', 'tokens', 'plans', 'checkpoints'])(
  'a list of %s shows none of another project',
  async (what) => {
    const own = await api.send('GET', `/v1/projects/rivals/${what}`, { token: stranger });
    expect(own.status).toBe(200);
    expect(JSON.stringify(own.body)).not.toMatch(new RegExp(`secret|${things.planId}`));
  },
);

it('the list of projects shows no other project', async () => {
  const { status, body } = await api.send('GET', '/v1/projects', { token: stranger });
  expect(status).toBe(200);
  expect(JSON.stringify(body)).not.toContain('research');
});
