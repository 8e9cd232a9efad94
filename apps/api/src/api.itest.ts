import { aJobSpec } from '@coxswain/api-types/testing';
import { type Postgres, startPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest } from './testing/api-under-test.ts';

let postgres: Postgres;
let api: ApiUnderTest;
let token: string;

beforeAll(async () => {
  postgres = await startPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('api') });
  token = await api.project('research');
}, 60_000);

afterAll(async () => {
  await api?.close();
  await postgres?.stop();
});

const JOBS = '/v1/projects/research/jobs';

describe('a job over REST', () => {
  it('is recorded with an outbox entry, and can be read and listed', async () => {
    const made = await api.send('POST', JOBS, { token, body: { name: 'first', spec: aJobSpec() } });
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'first', namespace: 'research', state: 'Submitting', uid: null },
    });
    expect(made.headers['etag']).toBe('"1"');
    const read = await api.send('GET', `${JOBS}/${made.body.id}`, { token });
    expect(read.body).toEqual(made.body);
    const listed = await api.send('GET', JOBS, { token });
    expect(listed.body.items.map((job: { name: string }) => job.name)).toContain('first');
    const outbox = await api.running.infrastructure.database.query('SELECT 1 FROM outbox WHERE job_id = $1', [
      made.body.id,
    ]);
    expect(outbox.rows).toHaveLength(1);
  });
});
