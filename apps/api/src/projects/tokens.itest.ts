import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { freshToken } from '../auth/token-format.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

let postgres: SharedPostgres;
/** Two replicas of one API. */
let api: ApiUnderTest;
let other: ApiUnderTest;
let admin: string;
/** How far the clock of the other replica is ahead. */
let aheadMs = 0;

beforeAll(async () => {
  postgres = migratedPostgres();
  const databaseUrl = await postgres.createDatabase('tokens');
  api = await startApiUnderTest({ databaseUrl });
  other = await startApiUnderTest({
    databaseUrl,
    adminToken: api.adminToken,
    clock: { now: () => new Date(Date.now() + aheadMs) },
  });
  admin = await api.project('research', 'admin');
});

afterAll(async () => {
  await Promise.all([api?.close(), other?.close()]);
});

const TOKENS = '/v1/projects/research/tokens';
const DAY_MS = 86_400_000;
const create = (body: object): Promise<TestAnswer> => api.send('POST', TOKENS, { token: admin, body });
const list = async (): Promise<readonly Record<string, unknown>[]> =>
  (await api.send('GET', TOKENS, { token: admin })).body.items;
const statusOn = async (replica: ApiUnderTest, token: string): Promise<number> =>
  (await replica.send('GET', '/v1/whoami', { token })).status;
const refusedOn = (replica: ApiUnderTest, token: string): Promise<unknown> =>
  waitFor(async () => (await statusOn(replica, token)) === 401, {
    what: 'the token to be refused',
  });

describe('a token', () => {
  it('expires in 90 days unless something else was said, and is listed without its secret', async () => {
    const { body: made } = await create({ name: 'usual' });
    const leftMs = Date.parse(made.expiresAt) - Date.now();
    expect(leftMs / DAY_MS).toBeCloseTo(90, 1);
    const { token, ...rest } = made;
    expect((await list())[0]).toEqual(rest);
    expect(JSON.stringify(await list())).not.toContain(token.slice(13, 30));
  });

  it('never expires only when that was said', async () => {
    expect((await create({ name: 'for ever', neverExpires: true })).body.expiresAt).toBeNull();
    const both = await create({ name: 'both', neverExpires: true, expiresAt: '2100-01-01T00:00:00Z' });
    expect(both).toMatchObject({ status: 400, body: { errors: [{ pointer: '/expiresAt' }] } });
  });

  it('that is rotated stays good as long as was said, beside its successor', async () => {
    const { body: old } = await create({ name: 'rotated', role: 'viewer' });
    const { status, body: successor } = await api.send('POST', `${TOKENS}/${old.id}/rotate`, { token: admin });
    expect(status).toBe(201);
    expect(successor).toMatchObject({ name: 'rotated', role: 'viewer', rotatedFrom: old.id });
    expect([await statusOn(api, old.token), await statusOn(other, successor.token)]).toEqual([200, 200]);
    const left = (await list()).find(({ id }) => id === old.id);
    expect((Date.parse(String(left?.['expiresAt'])) - Date.now()) / DAY_MS).toBeCloseTo(1, 1);
  });

  it('is never good for longer than it was by being rotated, and not at all when that was said', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { body: old } = await create({ name: 'short', expiresAt });
    const rotate = (body: object) => api.send('POST', `${TOKENS}/${old.id}/rotate`, { token: admin, body });
    await rotate({ overlapSeconds: 86_400 });
    expect((await list()).find(({ id }) => id === old.id)).toMatchObject({ expiresAt });
    expect(await statusOn(other, old.token)).toBe(200);
    await rotate({ overlapSeconds: 0 });
    await Promise.all([refusedOn(api, old.token), refusedOn(other, old.token)]);
    expect(await rotate({})).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });

  it('that is revoked at one replica is refused by the other within seconds, though that has just seen it', async () => {
    const { body: made } = await create({ name: 'revoked' });
    expect(await statusOn(other, made.token)).toBe(200);
    await api.send('DELETE', `${TOKENS}/${made.id}`, { token: admin });
    aheadMs = 10_000;
    expect(await statusOn(other, made.token)).toBe(401);
    aheadMs = 0;
    expect((await list()).map(({ id }) => id)).not.toContain(made.id);
  });

  it('works at once at any replica, while strangers send a thousand that nobody was given', async () => {
    const flood = Promise.all(Array.from({ length: 1_000 }, () => statusOn(other, freshToken().token)));
    const { body: made } = await create({ name: 'among strangers' });
    expect(await statusOn(other, made.token)).toBe(200);
    expect(new Set(await flood)).toEqual(new Set([401]));
  });

  it('tells the hour in which it was last used', async () => {
    const { body: made } = await create({ name: 'used' });
    expect(made.lastUsedAt).toBeNull();
    await statusOn(api, made.token);
    const used = await waitFor(
      async () => (await list()).find(({ id, lastUsedAt }) => id === made.id && lastUsedAt !== null),
      { what: 'the time of its use' },
    );
    expect(used['lastUsedAt']).toMatch(/:00:00\.000Z$/);
  });

  it('is rotated and revoked over GraphQL as over REST', async () => {
    const ask = async (query: string, variables: object = {}) =>
      (await api.send('POST', '/graphql', { token: admin, body: { query, variables } })).body;
    const { body: old } = await create({ name: 'by graphql' });
    const rotate =
      'mutation ($id: ID!) { rotateToken(project: "research", id: $id, input: { overlapSeconds: 60 }) { id name rotatedFrom token } }';
    const { rotateToken: successor } = (await ask(rotate, { id: old.id })).data;
    expect(successor).toMatchObject({ name: 'by graphql', rotatedFrom: old.id });
    expect(await statusOn(api, successor.token)).toBe(200);
    const revoke = 'mutation ($id: ID!) { revokeToken(project: "research", id: $id) }';
    expect(await ask(revoke, { id: successor.id })).toEqual({ data: { revokeToken: true } });
    const again = await ask(revoke, { id: successor.id });
    expect(again.errors[0].extensions.code).toBe('NOT_FOUND');
    const { data } = await ask('{ tokens(project: "research") { items { id rotatedFrom } } }');
    const ids = data.tokens.items.map(({ id }: { id: string }) => id);
    expect([ids.includes(old.id), ids.includes(successor.id)]).toEqual([true, false]);
  });

  it('leaves in the audit who did what, and no secret', async () => {
    const found = await api.running.infrastructure.database.query<{ action: string; row: string }>(
      "SELECT action, a::text AS row FROM audit a WHERE action LIKE 'token.%'",
    );
    expect(new Set(found.rows.map(({ action }) => action))).toEqual(
      new Set(['token.create', 'token.rotate', 'token.revoke']),
    );
    for (const { row } of found.rows) expect(row).not.toContain('cxs_');
  });
});
