/** Is tenant B served in its turn while tenant A uses all that it may? Counted in requests and connections, not in time. */
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { aJobSpec } from '@coxswain/api-types/testing';
import { type Database, firstOf } from '@coxswain/persistence';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

/** Of four connections one is reserved, and one project holds two of the others. */
const CONNECTIONS = 4;
const GREEDY_REQUESTS = 30;
/** Event streams of the replica, which one project may hold all of. */
const STREAMS = 40;
const GREEDY_TOKENS = 50;
const SLOW_BODIES = 64;

let postgres: SharedPostgres;
let api: ApiUnderTest;
let greedyAdmin: string;
let modest: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('shares'),
    environment: {
      COXSWAIN_DATABASE_CONNECTIONS: String(CONNECTIONS),
      COXSWAIN_REPLICA_MAX_EVENT_STREAMS: String(STREAMS),
    },
  });
  greedyAdmin = await api.project('greedy', 'admin');
  modest = await api.project('modest', 'admin');
});
afterAll(() => api?.close());

const idOf = async (database: Database, name: string): Promise<string> => {
  const found = await database.query<{ id: string }>('SELECT id FROM projects WHERE name = $1', [name]);
  return firstOf(found)?.id ?? '';
};
const ask = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<TestAnswer> =>
  api.send(method, path, { token: modest, ...(body === undefined ? {} : { body }) });

const OF_EACH_VERB = [201, 200, 200, 200, 200, 200, 200, 200, 200, 200, 202];

/** The answers to one request of each verb. */
async function eachVerb(name: string): Promise<readonly TestAnswer[]> {
  const made = await ask('POST', '/v1/projects/modest/jobs', { name, spec: aJobSpec() });
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
    const answers = await eachVerb('beside-requests').finally(() => held.resolve());
    expect(load).toEqual({ held: 2, waiting: GREEDY_REQUESTS - 2 });
    expect(answers.map(({ status }) => status)).toEqual(OF_EACH_VERB);
    // The greedy requests that waited were served after these, or told to come again.
    const outcomes = await ended;
    const failures = outcomes.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).name] : []));
    expect(failures.length).toBeLessThanOrEqual(GREEDY_REQUESTS - 2);
    expect(new Set(failures)).toEqual(new Set(failures.length === 0 ? [] : ['PoolBusyError']));
    expect(tenantDatabase.load).toEqual({ held: 0, waiting: 0 });
  });
});

describe('while a project with fifty tokens opens all that it may', () => {
  const stop = new AbortController();
  const sockets: Socket[] = [];
  let tokens: readonly string[];
  let jobs: readonly string[];

  beforeAll(async () => {
    const made = await Promise.all(
      Array.from({ length: GREEDY_TOKENS }, (_, index) =>
        api.send('POST', '/v1/projects/greedy/tokens', {
          token: greedyAdmin,
          body: { name: `t-${index}`, role: 'submitter' },
        }),
      ),
    );
    tokens = made.map(({ body }) => String(body.token));
    const body = { name: 'watched', spec: aJobSpec() };
    jobs = await Promise.all(
      [
        ['greedy', greedyAdmin],
        ['modest', modest],
      ].map(async ([project, token = '']) => {
        const { body: job } = await api.send('POST', `/v1/projects/${project}/jobs`, { token, body });
        return `${api.running.url}/v1/projects/${project}/jobs/${job.id}/events/stream`;
      }),
    );
  });
  afterAll(() => {
    stop.abort();
    for (const socket of sockets) socket.destroy();
  });

  const watch = async (url: string | undefined, token: string): Promise<number> => {
    const { signal } = stop;
    return (await fetch(url ?? '', { headers: { authorization: `Bearer ${token}` }, signal })).status;
  };

  /** The head of a request whose body stays away. */
  async function announceBody(token: string): Promise<void> {
    const { hostname, port } = new URL(api.running.url);
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    sockets.push(socket);
    const head = `POST /v1/projects/greedy/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n\r\n`;
    await new Promise<void>((sent) => socket.write(head, () => sent()));
  }

  it('another project watches its jobs, and each of its verbs is served', async () => {
    const [ofGreedy, ofModest] = jobs;
    const greedy = await Promise.all([...tokens, ...tokens].map((token) => watch(ofGreedy, token)));
    expect(greedy.filter((status) => status === 200)).toHaveLength(STREAMS);
    await Promise.all(Array.from({ length: SLOW_BODIES }, (_, index) => announceBody(tokens[index % 50] ?? '')));
    const watched = await Promise.all(Array.from({ length: STREAMS / 4 }, () => watch(ofModest, modest)));
    expect(new Set(watched)).toEqual(new Set([200]));
    expect((await eachVerb('beside-tokens')).map(({ status }) => status)).toEqual(OF_EACH_VERB);
  });
});
