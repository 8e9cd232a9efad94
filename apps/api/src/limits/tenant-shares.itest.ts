/** Is tenant B served in its turn while tenant A uses all that it may? Counted in requests and connections, not in time. */
import { randomUUID } from 'node:crypto';
import { aJobSpec } from '@coxswain/api-types/testing';
import { type Database, firstOf } from '@coxswain/persistence';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

/** Of four connections one is reserved, and one project holds two of the others. */
const CONNECTIONS = 4;
const GREEDY_REQUESTS = 30;

let postgres: SharedPostgres;
let api: ApiUnderTest;
let modest: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('shares'),
    environment: { COXSWAIN_DATABASE_CONNECTIONS: String(CONNECTIONS) },
  });
  await api.project('greedy');
  modest = await api.project('modest', 'admin');
});
afterAll(() => api?.close());

const idOf = async (database: Database, name: string): Promise<string> => {
  const found = await database.query<{ id: string }>('SELECT id FROM projects WHERE name = $1', [name]);
  return firstOf(found)?.id ?? '';
};
const ask = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<TestAnswer> =>
  api.send(method, path, { token: modest, ...(body === undefined ? {} : { body }) });

/** The answers to one request of each verb. */
async function eachVerb(): Promise<readonly TestAnswer[]> {
  const made = await ask('POST', '/v1/projects/modest/jobs', { name: 'small', spec: aJobSpec() });
  const job = `/v1/projects/modest/jobs/${made.body.id}`;
  const query = '{ jobs(project: "modest", pageSize: 500) { items { id name state } } }';
  return [
    made,
    await ask('GET', job),
    await ask('GET', '/v1/projects/modest/jobs'),
    await ask('POST', `${job}/suspend`),
    await ask('POST', `${job}/resume`, {}),
    await ask('POST', `${job}/cancel`),
    await ask('GET', '/v1/projects/modest/incidents'),
    await ask('GET', '/v1/projects/modest/audit'),
    await ask('GET', '/v1/whoami'),
    await ask('POST', '/graphql', { query }),
    await ask('DELETE', job),
  ];
}

describe('while one project’s requests hold every connection that it may have', () => {
  it('each verb of another project is served', async () => {
    const { database, tenantDatabase, cluster } = api.running.infrastructure;
    const reach = { kind: 'projects', ids: [await idOf(database, 'greedy')] } as const;
    const held = Promise.withResolvers<void>();
    const greedy = Array.from({ length: GREEDY_REQUESTS }, () =>
      tenantDatabase.within({ clusterId: cluster.id, principalId: randomUUID(), reach }, () => held.promise),
    );
    const ended = Promise.allSettled(greedy);
    const load = { ...tenantDatabase.load };
    const answers = await eachVerb().finally(() => held.resolve());
    expect(load).toEqual({ held: 2, waiting: GREEDY_REQUESTS - 2 });
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 200, 200, 200, 200, 200, 202]);
    // The greedy requests that waited were served after these, or told to come again.
    const outcomes = await ended;
    const failures = outcomes.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).name] : []));
    expect(failures.length).toBeLessThanOrEqual(GREEDY_REQUESTS - 2);
    expect(new Set(failures)).toEqual(new Set(failures.length === 0 ? [] : ['PoolBusyError']));
    expect(tenantDatabase.load).toEqual({ held: 0, waiting: 0 });
  });
});
