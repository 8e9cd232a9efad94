import { randomBytes } from 'node:crypto';
import { Database, makeRoles, namesOfRoles, TenantDatabase } from '@coxswain/persistence';
import { sharedPostgres, type SharedPostgres } from '@coxswain/test-harness';
import type { Config } from '../config/config.ts';
import { migrate } from '../infrastructure/databases.ts';

/** A database with every table, and roles of its own: nothing that is tested connects as a superuser. */
export interface TestDatabase {
  readonly urls: Config['databaseUrls'];
  /** As whatever goes on by itself: sees every row. */
  readonly database: Database;
  /** As requests. */
  readonly tenantDatabase: TenantDatabase;
  close(): Promise<void>;
}

let template: Promise<string> | undefined;

/** The server of this run. Its databases are copies of one with every table, which is faster than the migrations; roles are made as usual. */
export function migratedPostgres(): SharedPostgres {
  const server = sharedPostgres();
  template ??= makeTemplate(server);
  const name = template;
  return {
    ...server,
    createDatabase: async (prefix) => server.createDatabase(prefix, { template: await name }),
  };
}

async function makeTemplate(server: SharedPostgres): Promise<string> {
  const url = await server.createDatabase('template');
  const databaseUrls = { runtime: url, system: url, queue: url, migrator: url };
  await migrate({ databaseUrls }, { roles: undefined, onLocked: () => undefined });
  return new URL(url).pathname.slice(1);
}

/** Makes one on that server. */
export async function createTestDatabase(postgres: SharedPostgres, prefix: string): Promise<TestDatabase> {
  const urls = await rolesOf(await postgres.createDatabase(prefix));
  await migrate({ databaseUrls: urls }, { roles: await namesOfRoles(urls), onLocked: () => undefined });
  const options = { applicationName: `${prefix} test`, maxConnections: 4 };
  const database = await Database.connect({ ...options, url: urls.system });
  const tenantDatabase = await TenantDatabase.connect({ ...options, url: urls.runtime });
  return {
    urls,
    database,
    tenantDatabase,
    close: async () => {
      await Promise.all([database.close(), tenantDatabase.close()]);
    },
  };
}

/** Passwords by name of role: an API that is started again on a database finds the URLs of the one before. */
const passwords = new Map<string, string>();

/** Makes the roles of a database, as whoever installs Coxswain does, and gives their URLs. Databases of a server have roles of their own. */
export async function rolesOf(superuserUrl: string): Promise<Config['databaseUrls']> {
  const prefix = new URL(superuserUrl).pathname.slice(1);
  const passwordOf = (role: string): string => {
    const key = `${superuserUrl}/${role}`;
    const known = passwords.get(key) ?? randomBytes(16).toString('hex');
    passwords.set(key, known);
    return known;
  };
  return (await makeRoles({ adminUrl: superuserUrl, prefix, passwordOf })).urls;
}

/** The environment of a program that uses them. */
export function environmentOf(urls: Config['databaseUrls']): Record<string, string> {
  return {
    DATABASE_URL: urls.runtime,
    COXSWAIN_SYSTEM_DATABASE_URL: urls.system,
    COXSWAIN_QUEUE_DATABASE_URL: urls.queue,
    COXSWAIN_MIGRATOR_DATABASE_URL: urls.migrator,
  };
}
