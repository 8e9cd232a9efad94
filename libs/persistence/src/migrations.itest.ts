import { type Postgres, startPostgres } from '@coxswain/local-cluster';
import { DataSource } from 'typeorm';
import { Database } from './database.ts';
import { MIGRATIONS } from './migrations.ts';

let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.stop());

/** A database at which the migrations before the one of that name have run. */
async function databaseBefore(migration: string): Promise<DataSource> {
  const earlier = MIGRATIONS.slice(
    0,
    MIGRATIONS.findIndex(({ name }) => name === migration),
  );
  const url = await postgres.createDatabase(migration.toLowerCase());
  const source = new DataSource({ type: 'postgres', url, migrations: earlier, migrationsTableName: 'migrations' });
  await source.initialize();
  await source.runMigrations();
  return source;
}

describe('migrations', () => {
  it('wait for a table that somebody uses, as often as it takes, and no statement of theirs has a time limit', async () => {
    const earlier = await databaseBefore('RecordPlans1795281300000');
    const { url = '' } = earlier.options as { readonly url?: string };
    const user = earlier.createQueryRunner();
    await user.startTransaction();
    await user.query('LOCK TABLE jobs IN ACCESS SHARE MODE');
    const database = await Database.connect({ url, applicationName: 'migrations test', statementTimeoutMs: 50 });
    const refusals: string[] = [];
    try {
      const done = await database.migrate({
        lockTimeoutMs: 200,
        onLocked: (message) => {
          refusals.push(message);
          if (refusals.length === 2) void user.rollbackTransaction();
        },
      });
      expect(refusals[0]).toMatch(/lock timeout/);
      expect(refusals.length).toBeGreaterThanOrEqual(2);
      expect(done).toEqual(MIGRATIONS.slice(1).map(({ name }) => name));
      expect(await database.migrate()).toEqual([]);
    } finally {
      await database.close();
      await user.release();
      await earlier.destroy();
    }
  });
});

describe('CountGenerations', () => {
  it('keeps how much was asked of each job and how much of it is done, and what is not done is still found', async () => {
    const earlier = await databaseBefore('CountGenerations1795315500000');
    const id = '00000000-0000-4000-8000-000000000001';
    await earlier.query("INSERT INTO clusters (id, name) VALUES ($1, 'here')", [id]);
    await earlier.query(
      `INSERT INTO jobs (id, cluster_id, namespace, name, spec, state, intent, applied_intent)
       VALUES ($1, $1, 'research', 'pending', '{}', 'Running', 3, 1)`,
      [id],
    );
    const { url = '' } = earlier.options as { readonly url?: string };
    await earlier.destroy();
    const database = await Database.connect({ url, applicationName: 'migrations test' });
    try {
      expect((await database.migrate())[0]).toBe('CountGenerations1795315500000');
      const jobs = await database.query('SELECT generation, applied_generation FROM jobs');
      expect(jobs.rows).toEqual([{ generation: '3', applied_generation: '1' }]);
      const index = await database.query<{ indexdef: string }>(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'jobs_pending'",
      );
      expect(index.rows[0]?.indexdef).toMatch(/WHERE \(generation > applied_generation\)/);
      expect(await database.migrate()).toEqual([]);
    } finally {
      await database.close();
    }
  });
});
