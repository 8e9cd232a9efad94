import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { aJobSpec } from '@coxswain/api-types/testing';
import { freePort } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

/*
 * Tenant A at its allowed maximum, and tenant B is served in its turn. Counted in requests and entries, not in time.
 */

let postgres: SharedPostgres;
let api: ApiUnderTest;
let livenessPort: number;
/** Tokens of two projects that know nothing of each other. */
let a: string;
let b: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  livenessPort = await freePort();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('shares'),
    environment: {
      COXSWAIN_LIVENESS_PORT: String(livenessPort),
      // Ten milliseconds at once, which some requests use up.
      COXSWAIN_PRINCIPAL_CPU_MS_PER_SECOND: '1',
      COXSWAIN_STRANGERS_CPU_MS_PER_SECOND: '1',
      // A quarter is the share of a project.
      COXSWAIN_REPLICA_BODIES_MIB: '1',
    },
  });
  a = await api.project('tenant-a');
  b = await api.project('tenant-b');
});

afterAll(async () => {
  await api?.close();
});

const jobsOf = (project: string): string => `/v1/projects/${project}/jobs`;
/** Requests until one is refused with 429; fails after so many. */
async function untilLimited(ask: () => Promise<TestAnswer>, most = 500): Promise<TestAnswer> {
  for (let count = 0; count < most; count++) {
    const answer = await ask();
    if (answer.status === 429) return answer;
  }
  throw new Error(`none of ${most} requests was refused`);
}

describe('processor time', () => {
  it('of tenant A ends at its share with the time to wait, and tenant B is served', async () => {
    const query = '{ __schema { types { name fields { name type { name ofType { name } } } } } }';
    const refused = await untilLimited(() => api.send('POST', '/graphql', { token: a, body: { query } }));
    expect(refused.body).toMatchObject({
      code: 'RATE_LIMITED',
      detail: expect.stringMatching(/^you have used more than a share of this replica's processor: 1 ms a second/),
    });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await api.send('GET', jobsOf('tenant-b'), { token: b })).status).toBe(200);
    const { text } = await api.running.infrastructure.metrics.expose();
    expect(text).toMatch(/coxswain_api_limited_requests_total\{limit="cpu"\} [1-9]/);
    expect(text).toMatch(/coxswain_api_request_cpu_seconds_total\{whose="projects"\} 0\.[0-9]/);
  });

  it('of strangers who read the API description ends at their share, and tenants and probes are served', async () => {
    const read = (headers: Record<string, string> = {}): Promise<TestAnswer> =>
      api.send('GET', '/openapi.json', { headers });
    const first = await read();
    expect(first.status).toBe(200);
    const refused = await untilLimited(() => read({ 'if-none-match': String(first.headers['etag']) }), 5_000);
    expect(refused.body.detail).toMatch(/^requests without a token have used more than a share/);
    expect((await api.send('GET', '/v1/whoami', { token: api.adminToken })).status).toBe(200);
    expect((await api.send('GET', '/healthz')).status).toBe(200);
  });
});

describe('a document of 7 kB that would hold the event loop', () => {
  it('is refused before it is validated, while the liveness probe is answered', async () => {
    const query = `{ jobs(project: "tenant-a") { ${'items { id name } '.repeat(300)} } }`;
    const answer = await api.send('POST', '/graphql', { token: api.adminToken, body: { query } });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ extensions: { code: 'INVALID_REQUEST' } }] } });
    // The event loop of the API stands still while the other process asks.
    const program = `const { status } = await fetch('http://127.0.0.1:${livenessPort}/healthz'); console.log(status);`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(stdout.trim()).toBe('200');
  });
});

describe('bodies that never arrive', () => {
  const open: Socket[] = [];
  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy();
  });

  /** Sends the head of a request whose body stays away. */
  async function announce(token: string, project: string, bytes: number): Promise<{ answer: Promise<string> }> {
    const { hostname, port } = new URL(api.running.url);
    const socket = connect(Number(port), hostname);
    open.push(socket);
    const head = `POST ${jobsOf(project)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
    await new Promise<void>((sent) => socket.write(head, () => sent()));
    const answer = once(socket, 'data').then(([data]) => String(data));
    answer.catch(() => undefined);
    return { answer };
  }

  it('take the share of tenant A and no more, and a body of tenant B is read', async () => {
    // Of their own, because tenant A has no processor time left.
    const [first, other] = [await api.project('sender'), await api.project('reader')];
    await announce(first, 'sender', 200_000);
    const second = await announce(first, 'sender', 200_000);
    const refused = await second.answer;
    expect(refused).toMatch(/^HTTP\/1\.1 429/);
    expect(refused).toContain('sends too many bytes at once');
    const made = await api.send('POST', jobsOf('reader'), { token: other, body: { name: 'mine', spec: aJobSpec() } });
    expect(made.status).toBe(201);
  });
});
