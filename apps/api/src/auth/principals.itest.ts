import { aJobSpec } from '@coxswain/api-types/testing';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

let postgres: SharedPostgres;
let api: ApiUnderTest;
let admin: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('principals') });
  admin = await api.project('research', 'admin');
});

afterAll(async () => {
  await api?.close();
});

const JOBS = '/v1/projects/research/jobs';
const TOKENS = '/v1/projects/research/tokens';
const make = async (role: string): Promise<{ readonly id: string; readonly token: string }> =>
  (await api.send('POST', TOKENS, { token: admin, body: { name: role, role } })).body;
const rotate = async (id: string): Promise<string> =>
  (await api.send('POST', `${TOKENS}/${id}/rotate`, { token: admin })).body.token;
let count = 0;
const submit = (token: string, key?: string, name = `job-${(count += 1)}`): Promise<TestAnswer> =>
  api.send('POST', JOBS, {
    token,
    body: { name, spec: aJobSpec() },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });
const cancel = (token: string, id: string): Promise<TestAnswer> =>
  api.send('POST', `${JOBS}/${id}/cancel`, { token, body: {} });

describe('a principal', () => {
  it('is the same after its token was rotated: a request sent again under its key gets the first answer', async () => {
    const { id, token } = await make('operator');
    const first = await submit(token, 'one-key', 'once');
    expect(first.status).toBe(201);
    const again = await submit(await rotate(id), 'one-key', 'once');
    expect({ status: again.status, id: again.body.id }).toEqual({ status: 201, id: first.body.id });
    expect((await submit((await make('operator')).token, 'one-key', 'once')).status).toBe(409);
  });

  it('of role submitter cancels what it submitted, by whichever of its tokens, and nothing else', async () => {
    const [mine, other] = [await make('submitter'), await make('submitter')];
    const [first, second] = [await submit(mine.token), await submit(mine.token)];
    expect(await cancel(other.token, first.body.id)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect((await cancel(await rotate(mine.id), first.body.id)).status).toBe(200);
    expect((await cancel((await make('operator')).token, second.body.id)).status).toBe(200);
  });

  it('stands in the audit under one id before and after its token was rotated', async () => {
    const { id, token } = await make('operator');
    await submit(token, undefined, 'before');
    await submit(await rotate(id), undefined, 'after');
    const found = await api.running.infrastructure.database.query<{ principal: string }>(
      "SELECT DISTINCT principal FROM audit WHERE target IN ('research/before', 'research/after')",
    );
    expect(found.rows).toHaveLength(1);
  });
});
