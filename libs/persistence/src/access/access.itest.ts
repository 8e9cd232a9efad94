import { randomUUID } from 'node:crypto';
import { sharedPostgres, type SharedPostgres } from '@coxswain/test-harness';
import { Database } from '../database.ts';
import { migrateDatabase } from '../migrate.ts';
import type { Scope } from '../scope.ts';
import { ofJob, TenantDatabase } from '../tenant-database.ts';
import { type AccessRoles, QUEUE_SCHEMA } from './apply-access.ts';
import { DATABASE_FUNCTIONS } from './functions.ts';
import { makeRoles, type RolesMade } from './make-roles.ts';
import { namesOfRoles } from './role-problem.ts';
import { PRIVILEGES, SYSTEM_PRIVILEGES, TABLE_ACCESS, TABLES_OF_THE_OWNER } from './table-access.ts';

/*
 * More than 400 lines: a row of every table stands here, with which each is tried.
 */

let postgres: SharedPostgres;
let made: RolesMade;
let roles: AccessRoles;
/** Of a superuser, who looks at the catalogue and at what is there. */
let everything: Database;
let tenants: TenantDatabase;

beforeAll(async () => {
  postgres = sharedPostgres();
  const adminUrl = await postgres.createDatabase('access');
  made = await makeRoles({ adminUrl, prefix: 'access', passwordOf: (role) => `secret${role}` });
  roles = await namesOfRoles(made.urls);
  await migrateDatabase({
    url: made.urls.migrator,
    roles,
    also: (client) => client.query(`CREATE SCHEMA ${QUEUE_SCHEMA}`),
  });
  everything = await Database.connect({ url: adminUrl, applicationName: 'access test' });
  tenants = await TenantDatabase.connect({ url: made.urls.runtime, applicationName: 'access test' });
});
afterAll(async () => {
  await tenants?.close();
  await everything?.close();
});

const rowsOf = async <Row>(text: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> =>
  (await everything.query<Row>(text, parameters)).rows;
const namesOf = async (text: string, parameters: readonly unknown[] = []): Promise<readonly string[]> =>
  (await rowsOf<{ name: string }>(text, parameters)).map(({ name }) => name);
const TABLES = Object.keys(TABLE_ACCESS).sort();
const TENANT_TABLES = TABLES.filter((name) => TABLE_ACCESS[name]?.rows !== undefined);

describe('a migration', () => {
  const migrate = (): Promise<unknown> => migrateDatabase({ url: made.urls.migrator, roles });
  const canWriteNodes = async (): Promise<unknown> =>
    (await rowsOf<{ may: boolean }>("SELECT has_table_privilege('access_runtime', 'nodes', 'DELETE') AS may"))[0]?.may;

  it('mends what differs from the list, unless a newer release has been there, which has another list', async () => {
    await everything.query('GRANT DELETE ON nodes TO access_runtime; ALTER TABLE nodes NO FORCE ROW LEVEL SECURITY');
    await everything.query("INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'OfTheNextRelease')");
    await migrate();
    expect(await canWriteNodes()).toBe(true);
    await everything.query("DELETE FROM migrations WHERE name = 'OfTheNextRelease'");
    await migrate();
    expect(await canWriteNodes()).toBe(false);
  });
});

describe('the catalogue of the database', () => {
  it('has no table that nobody thought of', async () => {
    const there = await namesOf(
      "SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1",
    );
    expect(there).toEqual([...TABLES, ...TABLES_OF_THE_OWNER].sort());
  });

  it('forces policies on every table, for every command, with a check of what is written', async () => {
    const policies = await rowsOf<{ name: string; policies: readonly string[] }>(
      `SELECT c.relname::text AS name,
              ARRAY(SELECT p.polname || ' ' || p.polcmd::text || CASE WHEN p.polpermissive THEN '' ELSE ' restrictive' END
                           || CASE WHEN p.polqual IS NULL OR p.polwithcheck IS NULL THEN ' incomplete' ELSE '' END
                      FROM pg_policy p WHERE p.polrelid = c.oid ORDER BY 1) AS policies
         FROM pg_class c WHERE c.relname = ANY ($1::text[]) AND c.relnamespace = 'public'::regnamespace AND c.relrowsecurity AND c.relforcerowsecurity ORDER BY 1`,
      [TABLES],
    );
    expect(policies).toEqual(
      TABLES.map((name) => ({
        name,
        policies: TENANT_TABLES.includes(name) ? ['system *', 'tenant *'] : ['system *'],
      })),
    );
  });

  it('names the cluster and the project in each policy for requests, or says why not', async () => {
    const conditions = await rowsOf<{ name: string; using: string; check: string }>(
      `SELECT tablename::text AS name, qual AS using, with_check AS check FROM pg_policies WHERE policyname = 'tenant' ORDER BY 1`,
    );
    const loose = conditions.filter(
      ({ name, using, check }) =>
        (using !== check && TABLE_ACCESS[name]?.writes === undefined) ||
        (!isTenant(using) && TABLE_ACCESS[name]?.reason === undefined),
    );
    expect(loose.map(({ name }) => name)).toEqual([]);
  });

  it('lets only the system and the owner see every row', async () => {
    expect(
      await namesOf(
        `SELECT DISTINCT r.rolname::text AS name FROM pg_policy p CROSS JOIN unnest(p.polroles) AS of (role) JOIN pg_roles r ON r.oid = of.role
          WHERE p.polname = 'system' ORDER BY 1`,
      ),
    ).toEqual(['access_owner', 'access_system']);
  });

  it('grants to each role what it should, and to nobody else anything', async () => {
    const grants = await rowsOf<{ table: string; role: string; privileges: readonly string[] }>(
      `SELECT c.relname::text AS table, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text END AS role,
              array_agg(a.privilege_type ORDER BY a.privilege_type) AS privileges
         FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND a.grantee <> c.relowner GROUP BY 1, 2 ORDER BY 1, 2`,
    );
    const wanted = TABLES.flatMap((table) => {
      const forRequests = PRIVILEGES[TABLE_ACCESS[table]?.requests ?? 'none'];
      return [
        ...(forRequests.length === 0 ? [] : [{ table, role: 'access_runtime', privileges: forRequests }]),
        { table, role: 'access_system', privileges: SYSTEM_PRIVILEGES },
      ];
    });
    expect(grants).toEqual(wanted);
  });

  it('gives partitions to nobody: one that is read by its name skips the policies of its table', async () => {
    expect(
      await namesOf(
        `SELECT DISTINCT c.relname::text AS name FROM pg_class c CROSS JOIN aclexplode(c.relacl) a WHERE c.relispartition AND a.grantee <> c.relowner`,
      ),
    ).toEqual([]);
  });

  it('has no view that sees with the rights of its owner, and no copy of rows outside of tables', async () => {
    expect(
      await namesOf(
        `SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
            AND (relkind = 'm' OR (relkind = 'v' AND NOT coalesce(reloptions @> ARRAY['security_invoker=true'], false)))`,
      ),
    ).toEqual([]);
  });

  it('belongs to the owner, whom nobody can log in as', async () => {
    expect(
      await namesOf(
        `SELECT DISTINCT pg_get_userbyid(owner)::text AS name
           FROM (SELECT relowner AS owner FROM pg_class WHERE relnamespace = 'public'::regnamespace
                 UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace = 'public'::regnamespace) AS things`,
      ),
    ).toEqual(['access_owner']);
    expect(
      await rowsOf(
        `SELECT rolname::text AS name, rolcanlogin AS login FROM pg_roles
          WHERE rolname LIKE 'access\\_%' AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR NOT rolcanlogin)`,
      ),
    ).toEqual([{ name: 'access_owner', login: false }]);
  });

  it('has these functions with the rights of their owner, each with a path of its own and callable by its role alone', async () => {
    const functions = await rowsOf<{ name: string; path: readonly string[]; callers: readonly string[] }>(
      `SELECT proname::text AS name, proconfig AS path,
              ARRAY(SELECT pg_get_userbyid(a.grantee)::text FROM aclexplode(proacl) a WHERE a.grantee <> proowner ORDER BY 1) AS callers
         FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef ORDER BY 1`,
    );
    expect(functions.map(({ name, callers }) => ({ name, callers }))).toEqual(
      Object.entries(DATABASE_FUNCTIONS)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { caller }]) => ({
          name,
          callers: caller === 'trigger' ? [] : [`access_${caller}`],
        })),
    );
    // What the caller makes is looked up last, or not at all.
    const open = functions.filter(
      ({ path }) => !path.some((one) => /^search_path=pg_catalog, (public, )?pg_temp$/.test(one)),
    );
    expect(open.map(({ name }) => name)).toEqual([]);
  });

  it('keeps the queue’s role and the role of requests to their own schemas', async () => {
    const may = await rowsOf<{ role: string; tables: boolean; queue: boolean; make: boolean }>(
      `SELECT role, EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
                                 AND has_table_privilege(role, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')) AS tables,
              has_schema_privilege(role, 'bullmq', 'USAGE') AS queue, has_schema_privilege(role, 'public', 'CREATE') AS make
         FROM unnest($1::text[]) AS role ORDER BY 1`,
      [[roles.queue, roles.runtime]],
    );
    expect(may).toEqual([
      { role: 'access_queue', tables: false, queue: true, make: false },
      { role: 'access_runtime', tables: true, queue: false, make: false },
    ]);
  });

  it('has no foreign key or unique key between tenants, but for these', async () => {
    const keys = await namesOf(
      `SELECT c.conrelid::regclass || ' ' || pg_get_constraintdef(c.oid) AS name FROM pg_constraint c
        WHERE c.conrelid::regclass::text = ANY ($1::text[]) AND c.contype IN ('f', 'u', 'p') AND c.confrelid::regclass::text <> 'clusters'
          AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
                           AND (a.attname IN ('cluster_id', 'project_id') OR (a.attname = 'id' AND cardinality(c.conkey) = 1 AND c.contype = 'p')))
        ORDER BY 1`,
      [TABLES],
    );
    expect(keys).toEqual(KEYS_ACROSS_TENANTS);
  });
});

/** Each with the reason for which nothing is learned from it, or taken by it. */
const KEYS_ACROSS_TENANTS = [
  // A successor's predecessor: the key beside it carries the project. This one is for administrators, who have none.
  'api_tokens FOREIGN KEY (principal_id) REFERENCES principals(id)',
  'api_tokens FOREIGN KEY (rotated_from) REFERENCES api_tokens(id)',
  // Random, and made by us.
  'api_tokens UNIQUE (prefix)',
  // Of the installation.
  'clusters UNIQUE (name)',
  // The policy of the child asks whether the job is seen.
  'incidents FOREIGN KEY (job_id) REFERENCES jobs(id)',
  'incidents UNIQUE (job_id, key)',
  'job_events FOREIGN KEY (job_id) REFERENCES jobs(id)',
  'job_events UNIQUE (job_id, key)',
  'outbox FOREIGN KEY (job_id) REFERENCES jobs(id)',
  // Of an issuer, which knows its people in all projects.
  'principals UNIQUE (issuer, subject)',
  // Of a person, who is of no project; what is unique is random, or a digest of what the issuer signed.
  'sessions FOREIGN KEY (principal_id) REFERENCES principals(id)',
  'sessions UNIQUE (id_token_sha256)',
  'sessions UNIQUE (prefix)',
  // Of the installation.
  'settings PRIMARY KEY (key)',
];

function isTenant(condition: string): boolean {
  return /scope_cluster|FROM projects|FROM jobs/.test(condition) && /scope_is_whole_cluster|FROM jobs/.test(condition);
}

/** A project on a cluster of its own, with a row in every table. */
interface Tenant {
  readonly clusterId: string;
  readonly projectId: string;
  readonly principalId: string;
}

async function aTenant(clusterId: string = randomUUID()): Promise<Tenant> {
  const [projectId, principalId, jobId] = [randomUUID(), randomUUID(), randomUUID()];
  const tenant = { clusterId, projectId, principalId };
  const values: Readonly<Record<string, unknown>> = {
    ...tenant,
    jobId,
    uid: `uid-${jobId}`,
    name: `n${jobId.slice(0, 8)}`,
  };
  for (const [statement, names] of ROWS)
    await everything.query(
      statement,
      names.map((name) => values[name]),
    );
  return tenant;
}

const ROWS: readonly (readonly [statement: string, parameters: readonly string[]])[] = [
  ['INSERT INTO clusters (id, name) VALUES ($1::uuid, $1::uuid::text) ON CONFLICT DO NOTHING', ['clusterId']],
  ['INSERT INTO projects (cluster_id, id, name) VALUES ($1, $2, $3)', ['clusterId', 'projectId', 'name']],
  [
    'INSERT INTO project_namespaces (cluster_id, project_id, namespace, position) VALUES ($1, $2, $3, 1)',
    ['clusterId', 'projectId', 'name'],
  ],
  [
    "INSERT INTO principals (id, project_id, kind, issuer, subject, name) VALUES ($1::uuid, $2, 'service', '', $1::uuid::text, 'p')",
    ['principalId', 'projectId'],
  ],
  [
    `INSERT INTO api_tokens (id, project_id, principal_id, name, role, prefix, secret_sha256) VALUES ($1, $2, $1, 't', 'viewer', $3, sha256('x'))`,
    ['principalId', 'projectId', 'name'],
  ],
  [
    // Triggers make the rows of job_labels and job_name_words.
    `INSERT INTO jobs (cluster_id, project_id, id, uid, namespace, name, spec, state, labels)
     VALUES ($1, $2, $3, $4, $5, $5, '{}', 'Running', '{"team": "x"}')`,
    ['clusterId', 'projectId', 'jobId', 'uid', 'name'],
  ],
  ["INSERT INTO attempts VALUES ($1, $2, 1, '{}')", ['clusterId', 'uid']],
  ["INSERT INTO layouts (id, project_id, layout) VALUES ($1, $2, '{}')", ['jobId', 'projectId']],
  [
    "INSERT INTO group_roles (id, cluster_id, project_id, issuer, group_name, role) VALUES ($1, $2, $3, 'i', 'g', 'viewer')",
    ['jobId', 'clusterId', 'projectId'],
  ],
  ['INSERT INTO outbox (job_id) VALUES ($1)', ['jobId']],
  [
    "INSERT INTO idempotency_keys (cluster_id, principal, key, request_sha256, response) VALUES ($1, $2, 'key', 'x', '{}')",
    ['clusterId', 'principalId'],
  ],
  [
    "INSERT INTO incidents (cluster_id, job_id, key, kind, noticed_at, is_open, incident) VALUES ($1, $2, 'k', 'Crash', now(), true, '{}')",
    ['clusterId', 'jobId'],
  ],
  [
    "INSERT INTO job_events (job_id, key, type, severity, message, at) VALUES ($1, 'k', 't', 's', 'm', now())",
    ['jobId'],
  ],
  [
    `INSERT INTO checkpoints (cluster_id, uid, namespace, name, job_uid, spec, state, resource_version, created_at)
     VALUES ($1, $2, $3, 'c', $2, '{}', 'Complete', 1, now())`,
    ['clusterId', 'uid', 'name'],
  ],
  [
    "INSERT INTO checkpoint_geometries (cluster_id, job_uid, namespace, geometry, tensor_groups) VALUES ($1, $2, $3, 'g', '[]')",
    ['clusterId', 'uid', 'name'],
  ],
  [
    `INSERT INTO checkpoint_verifications (cluster_id, checkpoint_uid, namespace, verified_at, verification)
     VALUES ($1, $2, $3, now(), '{}')`,
    ['clusterId', 'uid', 'name'],
  ],
  [
    `INSERT INTO placements (cluster_id, uid, namespace, name, job_uid, epoch, spec, resource_version) VALUES ($1, $2, $3, 'p', $2, 1, '{}', 1)`,
    ['clusterId', 'uid', 'name'],
  ],
  [
    "INSERT INTO nodes (cluster_id, uid, name, labels, resource_version) VALUES ($1, $2, 'n', '{}', 1)",
    ['clusterId', 'uid'],
  ],
  [
    "INSERT INTO fabric_chunks (cluster_id, sha256, nodes) VALUES ($1, sha256(convert_to($2, 'UTF8')), '{}')",
    ['clusterId', 'uid'],
  ],
  [
    `INSERT INTO fabric_snapshots (id, cluster_id, taken_at, seen_until, sha256, chunks, added_bytes, unrecorded_looks, counts)
     VALUES (gen_random_uuid(), $1, now(), now(), '\\x00', '{}', 1, 0, '{}')`,
    ['clusterId'],
  ],
  ["INSERT INTO job_series (cluster_id, job_uid, month) VALUES ($1, $2, '2026-01-01')", ['clusterId', 'uid']],
  [
    'INSERT INTO step_epochs (cluster_id, job_uid, epoch, first_step, last_step) VALUES ($1, $2, 1, 1, 1)',
    ['clusterId', 'uid'],
  ],
  ["SELECT ensure_series_month('2026-01-01')", []],
  [
    "INSERT INTO steps (cluster_id, month, job_uid, epoch, step, step_time_ms, at) VALUES ($1, '2026-01-01', $2, 1, 1, 1, now())",
    ['clusterId', 'uid'],
  ],
  [
    `INSERT INTO step_levels (cluster_id, month, job_uid, epoch, width, bucket, first_step, last_step, steps, losses, step_time_sum, step_time_min,
       step_time_max, grads, last_at) VALUES ($1, '2026-01-01', $2, 1, 10, 0, 1, 1, 1, 0, 1, 1, 1, 0, now())`,
    ['clusterId', 'uid'],
  ],
  [
    "INSERT INTO rank_steps (cluster_id, job_uid, rank, epoch, step, step_time_ms, timings_ms, at) VALUES ($1, $2, 0, 1, 1, 1, '{}', now())",
    ['clusterId', 'uid'],
  ],
  ["INSERT INTO series_gaps (cluster_id, boot_id) VALUES ($1, 'b')", ['clusterId']],
  [
    "INSERT INTO audit (cluster_id, principal, principal_name, project_id, action, target) VALUES ($1, $2, 'p', $3, 'a', 't')",
    ['clusterId', 'principalId', 'projectId'],
  ],
  [
    "INSERT INTO code_archives (cluster_id, project_id, namespace, sha256, bytes) VALUES ($1, $2, 'n', 'd', 1)",
    ['clusterId', 'projectId'],
  ],
  [
    "INSERT INTO webhooks (id, cluster_id, project_id, url, events, sealed_secret) VALUES ($1, $2, $3, 'u', '{}', 's')",
    ['jobId', 'clusterId', 'projectId'],
  ],
  [
    "INSERT INTO webhook_deliveries (webhook_id, cluster_id, project_id, event, body) VALUES ($1, $2, $3, 'e', '{}')",
    ['jobId', 'clusterId', 'projectId'],
  ],
  [
    "INSERT INTO plans (id, project_id, request, answer, planner_version) VALUES ($1, $2, '{}', '{}', 'v')",
    ['jobId', 'projectId'],
  ],
  [
    'INSERT INTO measured_step_times (cluster_id, job_uid, epoch, median_step_ms, steps) VALUES ($1, $2, 1, 1, 1)',
    ['clusterId', 'uid'],
  ],
];

const ofProject = ({ clusterId, projectId, principalId }: Tenant): Scope => ({
  clusterId,
  principalId,
  reach: { kind: 'projects', ids: [projectId] },
});
const ofCluster = ({ clusterId }: Tenant): Scope => ({
  clusterId,
  principalId: randomUUID(),
  reach: { kind: 'cluster' },
});
/** What the policies let requests see although it is another project's. */
const SHARED_BY_A_CLUSTER = ['nodes', 'series_gaps'];
/** What no project sees. */
const OF_ADMINISTRATORS = ['fabric_chunks', 'fabric_snapshots'];

describe('a request whose filters were forgotten', () => {
  let theirs: Tenant;
  let besides: Tenant;
  let elsewhere: Tenant;

  beforeAll(async () => {
    theirs = await aTenant();
    besides = await aTenant(theirs.clusterId);
    elsewhere = await aTenant();
  });

  const counted = (scope: Scope, table: string): Promise<number> =>
    tenants.within(scope, async (sql) => {
      const { rows } = await sql.query<{ n: number }>(`SELECT count(*)::integer AS n FROM ${table}`);
      return rows[0]?.n ?? -1;
    });
  const codeOf = (act: Promise<unknown>): Promise<unknown> =>
    act.then(
      (result) => result,
      (error: unknown) => (error as { code?: string }).code,
    );
  const privileged = (privilege: string): readonly string[] =>
    TENANT_TABLES.filter((name) => PRIVILEGES[TABLE_ACCESS[name]?.requests ?? 'none'].includes(privilege));

  it('has a row of each tenant in every table, so that there is something to find', async () => {
    for (const table of TENANT_TABLES) {
      const [found] = await rowsOf<{ n: number }>(`SELECT count(*)::integer AS n FROM ${table}`);
      expect({ table, isEnough: (found?.n ?? 0) >= 3 }).toEqual({ table, isEnough: true });
    }
  });

  it('reads the rows of its own project', async () => {
    for (const table of privileged('SELECT')) {
      const seen = SHARED_BY_A_CLUSTER.includes(table) ? 2 : 1;
      expect({ table, n: await counted(ofProject(theirs), table) }).toEqual({
        table,
        n: OF_ADMINISTRATORS.includes(table) ? 0 : seen,
      });
    }
  });

  it('reads the rows of one cluster, as its administrator', async () => {
    for (const table of privileged('SELECT')) {
      const n = await counted(ofCluster(theirs), table);
      expect({ table, n }).toEqual({ table, n: table === 'idempotency_keys' ? 0 : 2 });
    }
  });

  it.each<[string, () => Scope]>([
    [
      'of the project’s id on another cluster',
      () => ({ ...ofProject(theirs), clusterId: elsewhere.clusterId, principalId: randomUUID() }),
    ],
    [
      'of a project that there is not',
      () => ({ ...ofProject(theirs), principalId: randomUUID(), reach: { kind: 'projects', ids: [randomUUID()] } }),
    ],
    [
      'of no project',
      () => ({ ...ofProject(theirs), principalId: randomUUID(), reach: { kind: 'projects', ids: [] } }),
    ],
    ['of a cluster that there is not', () => ofCluster({ ...theirs, clusterId: randomUUID() })],
  ])('reads nothing in the scope %s', async (_sentence, scope) => {
    const shared =
      scope().clusterId === theirs.clusterId || scope().clusterId === elsewhere.clusterId ? SHARED_BY_A_CLUSTER : [];
    for (const table of privileged('SELECT').filter((name) => !shared.includes(name))) {
      expect({ table, n: await counted(scope(), table) }).toEqual({ table, n: 0 });
    }
  });

  it('reads nothing without a scope, and nothing that a scope before it on the connection left behind', async () => {
    const runtime = await Database.connect({
      url: made.urls.runtime,
      applicationName: 'access test',
      maxConnections: 1,
    });
    try {
      for (const table of privileged('SELECT')) {
        expect({ table, rows: (await runtime.query(`SELECT FROM ${table}`)).rows }).toEqual({ table, rows: [] });
      }
      await runtime.transaction(async (sql) => {
        await sql.query(
          "SELECT set_config('coxswain.cluster_id', $1, true), set_config('coxswain.project_ids', '*', true)",
          [theirs.clusterId],
        );
        expect((await sql.query('SELECT FROM jobs')).rows).toHaveLength(2);
      });
      expect((await runtime.query('SELECT FROM jobs')).rows).toEqual([]);
    } finally {
      await runtime.close();
    }
  });

  it('sees no more, and no less, by saying of which job it reads, whichever it names', async () => {
    const tables = privileged('SELECT').filter((name) => TABLE_ACCESS[name]?.rows?.includes('coxswain.job_uid'));
    expect(tables).toContain('steps');
    const uids = await rowsOf<{ uid: string }>('SELECT uid FROM jobs');
    const nowhere: Scope = { ...ofProject(theirs), reach: { kind: 'projects', ids: [] } };
    for (const table of tables) {
      for (const { uid } of [...uids, { uid: '' }, { uid: '*' }]) {
        const seen = (scope: Scope): Promise<readonly string[]> =>
          tenants.within(scope, async (sql) => {
            await sql.query(`SELECT ${ofJob('$1')}`, [uid]);
            const { rows } = await sql.query<{ uid: string }>(`SELECT job_uid AS uid FROM ${table}`);
            return rows.map((row) => row.uid);
          });
        const [own] = await rowsOf<{ uid: string }>('SELECT uid FROM jobs WHERE project_id = $1', [theirs.projectId]);
        expect({ table, uid, seen: await seen(ofProject(theirs)) }).toEqual({ table, uid, seen: [own?.uid] });
        expect({ table, uid, seen: await seen(nowhere) }).toEqual({ table, uid, seen: [] });
      }
    }
  });

  it('looks its job up once for a statement that reads many of its rows', async () => {
    const [job] = await rowsOf<{ uid: string }>('SELECT uid FROM jobs WHERE project_id = $1', [theirs.projectId]);
    const planOf = (isNamed: boolean): Promise<string> =>
      tenants.within(ofProject(theirs), async (sql) => {
        if (isNamed) await sql.query(`SELECT ${ofJob('$1')}`, [job?.uid]);
        const { rows } = await sql.query<{ 'QUERY PLAN': string }>(
          'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) SELECT FROM steps WHERE cluster_id = $1 AND job_uid = $2',
          [theirs.clusterId, job?.uid],
        );
        return rows.map((row) => row['QUERY PLAN']).join('\n');
      });
    expect(await planOf(false)).toMatch(/\n +SubPlan[^]*Index [^\n]* on jobs [^\n]*rows=1/);
    expect(await planOf(true)).toMatch(/\n +SubPlan[^]* on jobs [^\n]*never executed/);
  });

  it('changes and deletes no more than its own', async () => {
    for (const table of privileged('DELETE')) {
      await tenants
        .within(ofProject(besides), async (sql) => {
          const column = (
            await rowsOf<{ name: string }>(
              'SELECT attname::text AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum = 1',
              [table],
            )
          )[0]?.name;
          expect({ table, affected: (await sql.query(`UPDATE ${table} SET ${column} = ${column}`)).affected }).toEqual({
            table,
            affected: 1,
          });
          if (!['projects', 'jobs', 'principals'].includes(table)) {
            expect({ table, affected: (await sql.query(`DELETE FROM ${table}`)).affected }).toEqual({
              table,
              affected: 1,
            });
          }
          throw new Error('taken back');
        })
        .catch((error: unknown) => {
          if ((error as Error).message !== 'taken back') throw error;
        });
    }
  });

  it('writes no row of another project, cluster or principal, in any table', async () => {
    for (const table of TENANT_TABLES) {
      for (const other of [besides, elsewhere]) {
        const row = await rowOf(table, other);
        const writing = tenants.within(ofProject(theirs), (sql) =>
          sql.query(`INSERT INTO ${table} SELECT * FROM jsonb_populate_record(NULL::${table}, $1::jsonb)`, [row]),
        );
        expect({ table, code: await codeOf(writing) }).toEqual({ table, code: '42501' });
      }
    }
  });

  it('does not make a job of another project by the project’s name in its own scope, nor as an administrator of another cluster', async () => {
    const row = JSON.parse(await rowOf('jobs', theirs)) as object;
    const write = (scope: Scope, values: object): Promise<unknown> =>
      codeOf(
        tenants.within(scope, (sql) =>
          sql.query('INSERT INTO jobs SELECT * FROM jsonb_populate_record(NULL::jobs, $1::jsonb)', [
            JSON.stringify({ ...row, id: randomUUID(), uid: randomUUID(), name: randomUUID(), ...values }),
          ]),
        ),
      );
    expect(await write(ofProject(theirs), { project_id: besides.projectId })).toBe('42501');
    expect(await write(ofCluster(theirs), { cluster_id: elsewhere.clusterId })).toBe('42501');
    // The policy lets an administrator name any project; the foreign key knows whose cluster it is.
    expect(await write(ofCluster(theirs), { project_id: elsewhere.projectId })).toBe('23503');
  });

  it('tells the audit what it does in no other name, and reads there what others did in its project', async () => {
    const write = (principalId: string): Promise<unknown> =>
      codeOf(
        tenants.within(ofProject(theirs), (sql) =>
          sql.query(
            "INSERT INTO audit (principal, principal_name, project_id, action, target) VALUES ($1, 'p', $2, 'a', 't') RETURNING cluster_id",
            [principalId, theirs.projectId],
          ),
        ),
      );
    expect(await write(besides.principalId)).toBe('42501');
    const before = await counted({ ...ofProject(theirs), principalId: randomUUID() }, 'audit');
    expect(await write(theirs.principalId)).toMatchObject({ rows: [{ cluster_id: theirs.clusterId }] });
    expect(await counted({ ...ofProject(theirs), principalId: randomUUID() }, 'audit')).toBe(before + 1);
  });

  it('finds a token by its prefix alone, before it is known who asks', async () => {
    const [token] = await rowsOf<{ prefix: string }>('SELECT prefix FROM api_tokens WHERE project_id = $1', [
      theirs.projectId,
    ]);
    const find = (clusterId: string): Promise<readonly { readonly grants: readonly { readonly id: string }[] }[]> =>
      tenants.call('find_credentials', [[token?.prefix, 'unknown'], clusterId, 1]);
    expect((await find(theirs.clusterId)).flatMap(({ grants }) => grants.map(({ id }) => id))).toEqual([
      theirs.projectId,
    ]);
    expect(await find(randomUUID())).toEqual([]);
  });

  /** The row of a tenant in that table, as JSON. */
  async function rowOf(table: string, tenant: Tenant): Promise<string> {
    const rows = await rowsOf<{ row: Record<string, unknown> }>(`SELECT to_jsonb(t) AS row FROM ${table} t`);
    const [job] = await rowsOf<{ id: string; uid: string }>('SELECT id, uid FROM jobs WHERE project_id = $1', [
      tenant.projectId,
    ]);
    const marks = [tenant.projectId, tenant.principalId, job?.id, job?.uid];
    const mine = rows.find(({ row }) => Object.values(row).some((value) => marks.includes(value as string)));
    const ofCluster = rows.find(({ row }) => row['cluster_id'] === tenant.clusterId);
    return JSON.stringify((mine ?? ofCluster)?.row);
  }
});
