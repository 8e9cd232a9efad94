import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { aPlanRequest } from '../testing/a-plan-request.ts';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

/** It is searched for longer than any budget here. */
const HOSTILE = {
  model: 'deepseek-v3',
  cluster: { gpu: 'h100', gpus: 15_120 },
  globalBatchSize: 720_720 * 16,
  sequenceLength: 4096,
  top: 100,
};
const HOSTILE_PLANS = 17;

describe('plans of a project that asks for what takes long', () => {
  let postgres: SharedPostgres;
  let api: ApiUnderTest;
  let hostile: string;
  let modest: string;

  beforeAll(async () => {
    postgres = migratedPostgres();
    api = await startApiUnderTest({
      databaseUrl: await postgres.createDatabase('plan-queue'),
      environment: {
        COXSWAIN_PROJECT_MAX_PLANS: String(HOSTILE_PLANS - 1),
        COXSWAIN_PROJECT_MAX_STORED_PLANS: '2',
        COXSWAIN_PLAN_SECONDS: '300',
      },
    });
    hostile = await api.project('hostile');
    modest = await api.project('modest');
  });

  afterAll(async () => {
    await api?.close();
  });

  const gauge = async (name: string): Promise<number> =>
    Number(new RegExp(`${name} (\\d+)`).exec((await api.running.infrastructure.metrics.expose()).text)?.[1]);
  const unanswered = async (): Promise<number> =>
    (await gauge('coxswain_api_plans_waiting')) + (await gauge('coxswain_api_plans_running'));
  /** Over a connection of its own, which can be closed. */
  const post = (path: string, body: object, signal: AbortSignal): Promise<Response> =>
    fetch(`${api.running.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${hostile}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });

  it('are kept up to a number, the newest of them', async () => {
    const plans = '/v1/projects/modest/plans';
    const ids: string[] = [];
    for (let time = 0; time < 3; time++) {
      ids.unshift((await api.send('POST', plans, { token: modest, body: aPlanRequest() })).body.id);
    }
    const { items } = (await api.send('GET', plans, { token: modest })).body;
    expect(items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
  });

  it('delay nobody else’s by more than a few seconds, and are ended when nobody waits for them any more', async () => {
    const gone = new AbortController();
    const asked = Array.from({ length: HOSTILE_PLANS - 2 }, () =>
      post('/v1/projects/hostile/plans', HOSTILE, gone.signal),
    );
    const query = 'mutation ($input: PlanRequestInput!) { createPlan(project: "hostile", input: $input) { id } }';
    asked.push(post('/graphql', { query, variables: { input: HOSTILE } }, gone.signal));
    const ended = Promise.allSettled(asked);
    await waitFor(async () => (await unanswered()) === HOSTILE_PLANS - 1, { what: 'the hostile plans to wait' });
    const tooMany = await api.send('POST', '/v1/projects/hostile/plans', { token: hostile, body: HOSTILE });
    expect(tooMany).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(Number(tooMany.headers['retry-after'])).toBeGreaterThanOrEqual(1);

    const small = await api.send('POST', '/v1/projects/modest/plans', { token: modest, body: aPlanRequest() });
    expect(small.status).toBe(201);
    // Each of the others is searched for 300 s: the small one has waited for the end of none.
    expect(await unanswered()).toBe(HOSTILE_PLANS - 1);

    gone.abort();
    expect((await ended).every(({ status }) => status === 'rejected')).toBe(true);
    await waitFor(async () => (await unanswered()) === 0, { what: 'the abandoned plans to be ended' });
    const before = process.cpuUsage();
    await delay(1_000);
    const { user, system } = process.cpuUsage(before);
    // A search takes a whole core, 1,000 ms.
    expect((user + system) / 1000).toBeLessThan(500);
  });
});
