import { randomUUID } from 'node:crypto';
import { Database, makeRoles, migrateDatabase, type RolesMade } from '@coxswain/persistence';
import { createLogger } from '@coxswain/telemetry';
import { sharedPostgres, type SharedPostgres } from '@coxswain/test-harness';
import { readConfig } from './config/config.ts';
import { openDatabases } from './infrastructure/databases.ts';
import { ensureCluster } from './infrastructure/installation.ts';
import { environmentOf } from './testing/test-database.ts';

let postgres: SharedPostgres;

beforeAll(async () => {
  postgres = sharedPostgres();
});

const logger = createLogger({ program: 'test', level: 'silent' });
const as = (url: string): Promise<Database> =>
  Database.connect({ url, applicationName: 'roles test', maxConnections: 1 });

async function ask<Row>(url: string, ...statements: readonly string[]): Promise<readonly Row[]> {
  const database = await as(url);
  try {
    let rows: readonly Row[] = [];
    for (const statement of statements) ({ rows } = await database.query<Row>(statement));
    return rows;
  } finally {
    await database.close();
  }
}

const withUser = (url: string, user: string, password: string): string => {
  const changed = new URL(url);
  changed.username = user;
  changed.password = password;
  return changed.href;
};
const rolesFor = (adminUrl: string, suffix?: string): Promise<RolesMade> =>
  makeRoles({ adminUrl, prefix: new URL(adminUrl).pathname.slice(1), suffix, passwordOf: () => 'secret' });
/** Why the API does not start, or that it does. */
async function started(environment: Readonly<Record<string, string>>): Promise<string> {
  try {
    const { database, tenantDatabase } = await openDatabases(readConfig(environment), { logger });
    await Promise.all([database.close(), tenantDatabase.close()]);
    return 'it starts';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the API', () => {
  it('starts with the roles that were made for it, again and again', async () => {
    const { urls } = await rolesFor(await postgres.createDatabase('made'));
    expect(await started(environmentOf(urls))).toBe('it starts');
    expect(await started(environmentOf(urls))).toBe('it starts');
  });

  it.each<[string, (url: string, urls: RolesMade['urls'], name: string) => Promise<Record<string, string>>, RegExp]>([
    ['a superuser', (url) => Promise.resolve({ DATABASE_URL: url }), /role "coxswain" of DATABASE_URL is a superuser/],
    [
      'a role with BYPASSRLS',
      async (url, urls, name) => {
        await ask(url, `ALTER ROLE ${name}_runtime BYPASSRLS`);
        return environmentOf(urls);
      },
      /has BYPASSRLS/,
    ],
    [
      'a role that owns a table',
      async (url, urls, name) => {
        await ask(url, 'CREATE TABLE mine ()', `ALTER TABLE mine OWNER TO ${name}_runtime`);
        return environmentOf(urls);
      },
      /owns the table mine/,
    ],
    [
      'a member of the owner',
      async (url, urls, name) => {
        await ask(
          url,
          `CREATE TABLE mine ()`,
          `ALTER TABLE mine OWNER TO ${name}_owner`,
          `GRANT ${name}_owner TO ${name}_runtime`,
        );
        return environmentOf(urls);
      },
      /owns the table mine \(or is a member of its owner\)/,
    ],
    [
      'one and the same role for everything',
      (_url, urls) => Promise.resolve({ DATABASE_URL: urls.runtime }),
      /is the role of the system/,
    ],
  ])('does not start as %s, says what to do, and has changed nothing', async (_what, prepare, want) => {
    const url = await postgres.createDatabase('refused');
    const { urls } = await rolesFor(url);
    const refusal = await started(await prepare(url, urls, new URL(url).pathname.slice(1)));
    expect(refusal).toMatch(want);
    expect(refusal).toMatch(/database-roles\.js.*COXSWAIN_DATABASE_SINGLE_ROLE=true/);
    expect(await ask(url, "SELECT FROM pg_tables WHERE tablename = 'jobs'")).toEqual([]);
  });

  it('starts with one role for everything where that is asked for, as before, but not where policies would hide every row from it', async () => {
    const url = await postgres.createDatabase('single');
    const single = { DATABASE_URL: url, COXSWAIN_DATABASE_SINGLE_ROLE: 'true' };
    expect(await started(single)).toBe('it starts');
    const { urls } = await rolesFor(url);
    expect(await started(environmentOf(urls))).toBe('it starts');
    expect(await started({ DATABASE_URL: urls.runtime, COXSWAIN_DATABASE_SINGLE_ROLE: 'true' })).toMatch(
      /has policies already/,
    );
  });
});

describe('an installation with one role for everything', () => {
  it('changes over: its rows stay, what still runs with the old role goes on, and requests are bound by policies', async () => {
    const url = await postgres.createDatabase('legacy');
    const name = new URL(url).pathname.slice(1);
    await ask(url, `CREATE ROLE ${name}_old LOGIN PASSWORD 'old'`, `ALTER DATABASE ${name} OWNER TO ${name}_old`);
    const old = withUser(url, `${name}_old`, 'old');
    // As the release before: no roles, no policies; the queue's tables by its own hand.
    await migrateDatabase({ url: old });
    await ask(old, 'CREATE SCHEMA bullmq', 'CREATE TABLE bullmq.waiting (id serial PRIMARY KEY)');
    const [clusterId, id] = [randomUUID(), randomUUID()];
    await ask(
      old,
      `INSERT INTO clusters (id, name) VALUES ('${clusterId}', 'here')`,
      `INSERT INTO jobs (id, cluster_id, namespace, name, spec, state) VALUES ('${id}', '${clusterId}', 'n', 'n', '{}', 'Running')`,
    );

    const made = await rolesFor(url);
    expect(made.formerOwners).toEqual([`${name}_old`]);
    const running = await as(old);
    try {
      expect((await running.query('UPDATE jobs SET version = 2')).affected).toBe(1);
      await ask(url, 'DROP TABLE bullmq.waiting');
      expect(await started(environmentOf(made.urls))).toBe('it starts');
      expect((await running.query('UPDATE jobs SET version = 3')).affected).toBe(1);
      expect((await running.query('SELECT FROM bullmq.job')).rows).toEqual([]);
    } finally {
      await running.close();
    }
    expect(await ask(made.urls.system, 'SELECT version FROM jobs')).toEqual([{ version: '3' }]);
    expect(await ask(made.urls.runtime, 'SELECT FROM jobs')).toEqual([]);
    expect(await started({ ...environmentOf(made.urls), DATABASE_URL: old })).toMatch(/member of its owner/);
  });
});

describe('the roles', () => {
  it('are made by a role that is no superuser, but may create roles and owns the database', async () => {
    const url = await postgres.createDatabase('managed');
    const name = new URL(url).pathname.slice(1);
    await ask(
      url,
      `CREATE ROLE ${name}_dba LOGIN CREATEROLE PASSWORD 'dba'`,
      `ALTER DATABASE ${name} OWNER TO ${name}_dba`,
    );
    const dba = withUser(url, `${name}_dba`, 'dba');
    await ask(dba, 'CREATE TABLE made_before ()');
    const { urls } = await rolesFor(dba);
    expect(await started(environmentOf(urls))).toBe('it starts');
    expect((await rolesFor(dba)).formerOwners).toEqual([]);
    expect(await started(environmentOf(urls))).toBe('it starts');
  });
});

describe('passwords', () => {
  it('change without a gap by a second set of roles, and the first can be dropped then', async () => {
    const url = await postgres.createDatabase('rotated');
    const name = new URL(url).pathname.slice(1);
    const first = await rolesFor(url);
    expect(await started(environmentOf(first.urls))).toBe('it starts');
    const second = await rolesFor(url, '_b');
    expect(await started(environmentOf(second.urls))).toBe('it starts');
    // Both are in use while replicas are replaced.
    for (const { urls } of [first, second]) {
      const database = await as(urls.system);
      await ensureCluster(database, { name: 'here', id: undefined }).finally(() => database.close());
      expect(await ask(urls.runtime, 'SELECT FROM jobs')).toEqual([]);
    }
    const gone = ['runtime', 'system', 'queue', 'migrator'].map((role) => `${name}_${role}`).join(', ');
    await ask(url, `DROP OWNED BY ${gone}`, `DROP ROLE ${gone}`);
    expect(await started(environmentOf(second.urls))).toBe('it starts');
    expect(await ask(second.urls.system, 'SELECT name FROM clusters')).toEqual([{ name: 'here' }]);
  });
});
