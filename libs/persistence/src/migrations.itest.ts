import { DataSource } from 'typeorm';
import { sharedPostgres, type SharedPostgres } from '@coxswain/test-harness';
import { Database } from './database.ts';
import { migrateDatabase } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';

let postgres: SharedPostgres;

beforeAll(async () => {
  postgres = sharedPostgres();
});

let databases = 0;

/** A database at which the migrations before the one of that name have run. */
async function databaseBefore(migration: string): Promise<DataSource> {
  const earlier = MIGRATIONS.slice(
    0,
    MIGRATIONS.findIndex(({ name }) => name === migration),
  );
  const url = await postgres.createDatabase(`${migration.toLowerCase()}_${(databases += 1)}`);
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
    const refusals: string[] = [];
    try {
      const done = await migrateDatabase({
        url,
        lockTimeoutMs: 200,
        onLocked: (message) => {
          refusals.push(message);
          if (refusals.length === 2) void user.rollbackTransaction();
        },
      });
      expect(refusals[0]).toMatch(/lock timeout/);
      expect(refusals.length).toBeGreaterThanOrEqual(2);
      expect(done).toEqual(MIGRATIONS.slice(1).map(({ name }) => name));
      expect(await migrateDatabase({ url })).toEqual([]);
    } finally {
      await user.release();
      await earlier.destroy();
    }
  });
});

describe('the release before, on the schema of this one', () => {
  /** The first migration that the release before does not have. At a release, it is the first of the next. */
  const FIRST_SINCE_RELEASE = 'ServeJobsInTurns1795854600000';

  const columnsOf = async (source: DataSource): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
    const found: readonly { readonly table_name: string; readonly column_name: string }[] = await source.query(
      "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'",
    );
    const byTable = Map.groupBy(found, ({ table_name }) => table_name);
    return new Map([...byTable].map(([table, rows]) => [table, new Set(rows.map(({ column_name }) => column_name))]));
  };

  /** Pairs of tables that a foreign key relates, in both orders: what statements join. */
  const relatedTables = (source: DataSource): Promise<readonly { readonly one: string; readonly other: string }[]> =>
    source.query(
      `SELECT DISTINCT pair.one::regclass::text AS one, pair.other::regclass::text AS other FROM pg_constraint,
         LATERAL (VALUES (conrelid, confrelid), (confrelid, conrelid)) AS pair (one, other)
        WHERE contype = 'f' AND conrelid <> confrelid`,
    );

  it('finds every column where it was, and its joins that name a column without its table are not ambiguous', async () => {
    const source = await databaseBefore(FIRST_SINCE_RELEASE);
    const { url = '' } = source.options as { readonly url?: string };
    try {
      const before = await columnsOf(source);
      await migrateDatabase({ url });
      const after = await columnsOf(source);
      const related = Map.groupBy(await relatedTables(source), ({ one }) => one);
      for (const [table, columns] of before) {
        const now = after.get(table) ?? new Set();
        const joined = (related.get(table) ?? []).flatMap(({ other }) => [...(before.get(other) ?? [])]);
        const missing = [...columns].filter((column) => !now.has(column));
        const ambiguous = [...now].filter((column) => !columns.has(column) && joined.includes(column));
        expect({ table, missing, ambiguous }).toEqual({ table, missing: [], ambiguous: [] });
      }
    } finally {
      await source.destroy();
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
      expect((await migrateDatabase({ url }))[0]).toBe('CountGenerations1795315500000');
      const jobs = await database.query('SELECT generation, applied_generation FROM jobs');
      expect(jobs.rows).toEqual([{ generation: '3', applied_generation: '1' }]);
      const index = await database.query<{ indexdef: string }>(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'jobs_pending'",
      );
      expect(index.rows[0]?.indexdef).toMatch(/WHERE \(generation > applied_generation\)/);
      expect(await migrateDatabase({ url })).toEqual([]);
    } finally {
      await database.close();
    }
  });
});

describe('NamePrincipals', () => {
  it('makes one principal of tokens that succeeded each other, under the id of the first', async () => {
    const earlier = await databaseBefore('NamePrincipals1795388400000');
    const idOf = (number: number): string => `00000000-0000-4000-8000-00000000000${number}`;
    const add = (number: number, before: number | null): Promise<unknown> =>
      earlier.query(
        `INSERT INTO api_tokens (id, name, role, prefix, secret_sha256, rotated_from)
         VALUES ($1, 'root', 'clusterAdmin', $2, sha256('x'), $3)`,
        [idOf(number), String(number), before === null ? null : idOf(before)],
      );
    await add(1, null);
    await add(2, 1);
    await add(3, 2);
    await add(4, null);
    const { url = '' } = earlier.options as { readonly url?: string };
    await earlier.destroy();
    const database = await Database.connect({ url, applicationName: 'migrations test' });
    try {
      await migrateDatabase({ url });
      const found = await database.query<{ principal_id: string; kind: string; name: string }>(
        'SELECT t.principal_id, p.kind, p.name FROM api_tokens t JOIN principals p ON p.id = t.principal_id ORDER BY t.id',
      );
      expect(found.rows.map(({ principal_id }) => principal_id)).toEqual([idOf(1), idOf(1), idOf(1), idOf(4)]);
      expect(found.rows[0]).toMatchObject({ kind: 'service', name: 'root' });
    } finally {
      await database.close();
    }
  });
});

describe('LevelSeries', () => {
  it('keeps every step, in the month in which its job began, and draws its levels', async () => {
    const earlier = await databaseBefore('LevelSeries1795391940000');
    const id = '00000000-0000-4000-8000-000000000001';
    await earlier.query("INSERT INTO clusters (id, name) VALUES ($1, 'here')", [id]);
    await earlier.query(
      `INSERT INTO jobs (id, cluster_id, uid, namespace, name, spec, state, created_at)
       VALUES ($1, $1, 'known', 'research', 'known', '{}', 'Running', '2026-02-28T23:30:00Z')`,
      [id],
    );
    await earlier.query(
      `INSERT INTO steps (cluster_id, job_uid, epoch, step, loss, tokens, step_time_ms, at)
       SELECT $1, uid, 1, step, CASE WHEN step = 777 THEN 99 ELSE 2 END, 1000, 100, '2026-03-01T00:00:00Z'
         FROM unnest(ARRAY['known', 'unknown']) AS uid CROSS JOIN generate_series(1, 1234) AS step`,
      [id],
    );
    const before = (await earlier.query('SELECT * FROM steps ORDER BY job_uid, step')) as object[];
    const { url = '' } = earlier.options as { readonly url?: string };
    await earlier.destroy();
    const database = await Database.connect({ url, applicationName: 'migrations test' });
    try {
      expect((await migrateDatabase({ url }))[0]).toBe('LevelSeries1795391940000');
      const after = await database.query<object>('SELECT * FROM steps ORDER BY job_uid, step');
      expect(after.rows.map((row) => ({ ...row, month: undefined }))).toEqual(
        before.map((row) => ({ ...row, month: undefined })),
      );
      const months = await database.query('SELECT job_uid, month::text FROM job_series ORDER BY job_uid');
      expect(months.rows[0]).toEqual({ job_uid: 'known', month: '2026-02-01' });
      const levels = await database.query(
        `SELECT width, count(*)::integer AS buckets, sum(steps)::integer AS steps, max(loss_max) AS loss FROM step_levels
          WHERE job_uid = 'known' GROUP BY width ORDER BY width`,
      );
      expect(levels.rows).toEqual([
        { width: 10, buckets: 124, steps: 1_234, loss: 99 },
        { width: 100, buckets: 13, steps: 1_234, loss: 99 },
        { width: 1_000, buckets: 2, steps: 1_234, loss: 99 },
      ]);
    } finally {
      await database.close();
    }
  });
});

describe('KeepKeysByCluster', () => {
  const [ALPHA, BETA, SERVICE, PERSON] = [1, 2, 3, 4].map((n) => `00000000-0000-4000-8000-00000000000${n}`);

  it.each<[string, readonly (string | undefined)[], readonly object[]]>([
    [
      'of the only cluster are kept in it',
      [ALPHA],
      [
        { cluster_id: ALPHA, principal: SERVICE },
        { cluster_id: ALPHA, principal: PERSON },
      ],
    ],
    [
      'of a project are kept in its cluster, and those that may be of any are forgotten',
      [ALPHA, BETA],
      [{ cluster_id: ALPHA, principal: SERVICE }],
    ],
  ])('keys %s', async (_what, clusters, kept) => {
    const earlier = await databaseBefore('KeepKeysByCluster1795411200000');
    for (const id of clusters)
      await earlier.query("INSERT INTO clusters (id, name) VALUES ($1, 'of ' || $1::uuid)", [id]);
    await earlier.query("INSERT INTO projects (id, cluster_id, name) VALUES ($1, $1, 'research')", [ALPHA]);
    await earlier.query(
      `INSERT INTO principals (id, kind, issuer, subject, name, project_id)
       VALUES ($1, 'service', '', 's', 's', $3), ($2, 'person', 'i', 'p', 'p', NULL)`,
      [SERVICE, PERSON, ALPHA],
    );
    await earlier.query(
      "INSERT INTO idempotency_keys (principal, key, request_sha256, response) VALUES ($1, 'k', 'x', '{}'), ($2, 'k', 'x', '{}')",
      [SERVICE, PERSON],
    );
    const { url = '' } = earlier.options as { readonly url?: string };
    await earlier.destroy();
    await migrateDatabase({ url });
    const database = await Database.connect({ url, applicationName: 'migrations test' });
    try {
      const { rows } = await database.query('SELECT cluster_id, principal FROM idempotency_keys ORDER BY principal');
      expect(rows).toEqual(kept);
    } finally {
      await database.close();
    }
  });
});
