import { aJobSpec } from '@coxswain/api-types/testing';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

describe('what one project may use', () => {
  let postgres: SharedPostgres;
  let limited: ApiUnderTest;
  let tokens: readonly string[];

  beforeAll(async () => {
    postgres = migratedPostgres();
    limited = await startApiUnderTest({
      databaseUrl: await postgres.createDatabase('limits'),
      environment: {
        COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '1',
        COXSWAIN_PROJECT_REQUEST_BURST: '20',
        COXSWAIN_PROJECT_CHANGES_PER_SECOND: '1',
        COXSWAIN_PROJECT_CHANGE_BURST: '4',
        COXSWAIN_PROJECT_MAX_JOBS: '3',
        COXSWAIN_PROJECT_MAX_ENDED_JOBS: '2',
        COXSWAIN_PROJECT_MAX_LAYOUTS: '1',
        COXSWAIN_PROJECT_MAX_TOKENS: '1',
      },
    });
    tokens = [await limited.project('greedy'), await limited.project('modest')];
  });

  afterAll(async () => {
    await limited?.close();
  });

  const greedy = (path: string, body?: object, token = limited.adminToken): Promise<TestAnswer> =>
    limited.send(body === undefined ? 'GET' : 'POST', `/v1/projects/greedy${path}`, {
      token,
      ...(body === undefined ? {} : { body }),
    });

  it.each([
    ['jobs that have not ended', '/jobs', (index: number) => ({ name: `j${index}`, spec: aJobSpec() }), 3],
    ['saved layouts', '/layouts', (index: number) => ({ name: `l${index}`, layout: { tensorParallelDegree: 2 } }), 1],
    ['tokens', '/tokens', (index: number) => ({ name: `t${index}` }), 0],
  ])('%s are so many, however many ask at once', async (_what, path, body, more) => {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => greedy(path, body(index))));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array<number>(more).fill(201),
      ...Array<number>(8 - more).fill(429),
    ]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused).toMatchObject({ headers: { 'retry-after': '60' }, body: { code: 'RATE_LIMITED' } });
    expect(refused?.body.detail).toMatch(/project "greedy" has \d .*limit/);
  });

  it('tells whoever reads the project what is used, over REST and GraphQL alike', async () => {
    const { status, body } = await greedy('/limits', undefined, tokens[0]);
    expect(status).toBe(200);
    const items = body.items as readonly { name: string; used: number; most: number | null }[];
    const usage = Object.fromEntries(items.map(({ name, used, most }) => [name, `${used} of ${most}`]));
    expect(usage).toMatchObject({
      concurrentRequests: '1 of 50',
      jobs: '3 of 3',
      endedJobs: '0 of 2',
      jobRecords: '0 of 5000',
      layouts: '1 of 1',
      tokens: '1 of 1',
      storedPlans: '0 of 1000',
      streams: '0 of 2000',
      logStreams: '0 of 64',
      stopBurst: '0 of 3000',
    });
    const query = '{ projectLimits(project: "greedy") { items { name most used perSecond perMinute counted } } }';
    const graphql = await limited.send('POST', '/graphql', { token: limited.adminToken, body: { query } });
    const moving = ['requestBurst', 'changeBurst', 'writeBurst', 'cpuMilliseconds', 'concurrentRequests'];
    const stable = (all: readonly { name: string; perMinute?: number | null }[]) =>
      all.flatMap(({ perMinute = null, ...one }) => (moving.includes(one.name) ? [] : [{ ...one, perMinute }]));
    expect(stable(graphql.body.data.projectLimits.items)).toEqual(stable(items));
    expect((await greedy('/limits', undefined, tokens[1])).status).toBe(404);
  });

  it('has room again when a job has ended', async () => {
    await limited.running.infrastructure.database.query(
      'UPDATE jobs SET finished_at = now() WHERE name = (SELECT min(name) FROM jobs)',
    );
    expect((await greedy('/jobs', { name: 'again', spec: aJobSpec() })).status).toBe(201);
  });

  it('are told to delete jobs that have ended, when too many of them are in the cluster; records of others count elsewhere', async () => {
    const { database } = limited.running.infrastructure;
    const ended = (set: string, of: string): Promise<unknown> =>
      database.query(`UPDATE jobs SET finished_at = coalesce(finished_at, now()), ${set} WHERE name = '${of}'`);
    const names = (await greedy('/jobs')).body.items.map(({ name }: { readonly name: string }) => name) as string[];
    const [first, second, third] = names.sort();
    await ended("state = 'Failed'", first ?? '');
    await ended("state = 'Complete'", second ?? '');
    const refused = await greedy('/jobs', { name: 'one-more', spec: aJobSpec() });
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' }, body: { code: 'RATE_LIMITED' } });
    expect(refused.body.detail).toMatch(
      /^project "greedy" has 2 jobs that have ended and are still in the cluster; delete those that are needed no longer.* 2 is its limit/,
    );
    await ended("state = 'Deleted', deleted_at = now()", first ?? '');
    await ended("state = 'Refused'", third ?? '');
    const { body } = await greedy('/limits', undefined, tokens[0]);
    const usage = new Map(body.items.map((item: { name: string; used: number }) => [item.name, item.used]));
    expect([usage.get('endedJobs'), usage.get('jobRecords')]).toEqual([1, 2]);
    expect((await greedy('/jobs', { name: 'one-more', spec: aJobSpec() })).status).toBe(201);
  });

  it('is refused when it asks too often, with the time to wait, while others are served; each is counted', async () => {
    const statuses: number[] = [];
    for (let time = 0; time < 40; time++) {
      const { status, headers } = await greedy('/jobs', undefined, tokens[0]);
      statuses.push(status);
      if (status === 429) expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(statuses.at(0)).toBe(200);
    expect((await limited.send('GET', '/v1/projects/modest/jobs', { token: tokens[1] ?? '' })).status).toBe(200);
    // More fields than a slow moment gives back requests.
    const query = `{ ${Array.from({ length: 10 }, (_, index) => `a${index}: whoAmI { name }`).join(' ')} }`;
    const graphql = await limited.send('POST', '/graphql', { token: tokens[0] ?? '', body: { query } });
    expect(graphql.status).toBe(429);
    const { text } = await limited.running.infrastructure.metrics.expose();
    expect(text).toMatch(/coxswain_api_limited_requests_total\{limit="rate"\} [1-9]/);
    expect(text).toMatch(/coxswain_api_limited_requests_total\{limit="jobs"\} 5/);
  });

  it('counts each field at the root of a query', async () => {
    const query = `{ ${Array.from({ length: 10 }, (_, index) => `a${index}: whoAmI { name }`).join(' ')} }`;
    const ask = (): Promise<TestAnswer> =>
      limited.send('POST', '/graphql', { token: tokens[1] ?? '', body: { query } });
    expect((await ask()).status).toBe(200);
    // What the time between them gives back is less than one of them costs.
    await ask();
    expect(await ask()).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  });

  it('is refused when it changes jobs too often, over REST and GraphQL alike, while others change theirs; it can stop its jobs', async () => {
    const [token, another] = [await limited.project('restless'), await limited.project('calm')];
    const make = (project: string, by: string) =>
      limited.send('POST', `/v1/projects/${project}/jobs`, { token: by, body: { name: 'kept', spec: aJobSpec() } });
    const { id } = (await make('restless', token)).body;
    const label = (value: string): Promise<TestAnswer> =>
      limited.send('PATCH', `/v1/projects/restless/jobs/${id}`, { token, body: { labels: { value } } });
    const statuses: number[] = [];
    let refused: TestAnswer | undefined;
    for (let time = 0; time < 12; time++) {
      const answer = await label(String(time));
      statuses.push(answer.status);
      if (answer.status === 429) refused = answer;
    }
    expect(statuses.slice(0, 3)).toEqual([200, 200, 200]);
    expect(refused).toMatchObject({ headers: { 'retry-after': '1' }, body: { code: 'RATE_LIMITED' } });
    expect(refused?.body.detail).toMatch(/project "restless" has changed jobs too often: 1 changes a second/);
    const query = `mutation { resumeJob(project: "restless", id: "${id}") { id } }`;
    await label('again');
    await label('and again');
    const graphql = await limited.send('POST', '/graphql', { token, body: { query } });
    expect(graphql.body.errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }]);
    expect((await make('calm', another)).status).toBe(201);
    const stopped = await limited.send('POST', `/v1/projects/restless/jobs/${id}/cancel`, { token });
    expect(stopped).toMatchObject({ status: 200, body: { spec: { cancel: true } } });
  });
});
