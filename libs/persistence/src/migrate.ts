import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { DataSource, MigrationExecutor } from 'typeorm';
import { type AccessRoles, applyAccess } from './access/apply-access.ts';
import { withAdvisoryLock } from './advisory-lock.ts';
import { CONNECT_DEADLINE_MS } from './connect-deadline.ts';
import { isLocked, toDatabaseError } from './errors.ts';
import { MIGRATIONS } from './migrations.ts';

/** How the migrations go about locks, and whom they let in. */
export interface MigrateOptions {
  /** How long one statement waits for a lock: while it waits, everybody who comes later waits behind it. Default 3 000. */
  readonly lockTimeoutMs?: number;
  /** A lock was not to be had: the migration was taken back as a whole, and is tried again in a second. */
  readonly onLocked?: (message: string) => void;
  /** Who may do what afterwards. Absent: one role owns and uses everything, and no policy binds it. */
  readonly roles?: AccessRoles | undefined;
  /** What else is made before the roles are let in, on a connection of the migrator. */
  readonly also?: (client: Client) => Promise<unknown>;
}

/** Between two tries at a migration that found its table locked. */
const LOCKED_PAUSE_MS = 1_000;

/**
 * Runs the migrations that are missing, on a connection of their own. A statement on a large table may run long, but it waits for a lock only
 * briefly, so that it blocks no other query. Then it applies the rights of each role. Replicas that start together wait for each other. Returns the
 * names of the migrations.
 */
export async function migrateDatabase(options: MigrateOptions & { readonly url: string }): Promise<readonly string[]> {
  const { url, lockTimeoutMs = 3_000 } = options;
  return withAdvisoryLock({ url, name: 'coxswain/migrations' }, async () => {
    const migrated = await runMigrations({ ...options, lockTimeoutMs });
    const client = new Client({
      connectionString: url,
      application_name: 'coxswain/migrations',
      connectionTimeoutMillis: CONNECT_DEADLINE_MS,
      statement_timeout: 0,
      lock_timeout: lockTimeoutMs,
    });
    client.on('error', () => undefined); // The query in flight reports it.
    try {
      await client.connect();
      await options.also?.(client);
      const { roles } = options;
      if (roles !== undefined && !(await hasNewerRelease(client))) {
        await onceUnlocked(() => applyAccess(client, roles), options);
      }
      return migrated;
    } catch (error) {
      throw toDatabaseError(error);
    } finally {
      await client.end().catch(() => undefined);
    }
  });
}

/** A replica of this release that is started again beside a newer one leaves tables and their policies as the newer one wants them. */
async function hasNewerRelease(client: Client): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM migrations WHERE name <> ALL ($1::text[])', [
    MIGRATIONS.map(({ name }) => name),
  ]);
  return rows.length > 0;
}

async function runMigrations(
  options: MigrateOptions & { readonly url: string; readonly lockTimeoutMs: number },
): Promise<readonly string[]> {
  const source = new DataSource({
    type: 'postgres',
    url: options.url,
    applicationName: 'coxswain/migrations',
    migrations: [...MIGRATIONS],
    migrationsTableName: 'migrations',
    poolErrorHandler: () => undefined,
    extra: {
      max: 1,
      connectionTimeoutMillis: CONNECT_DEADLINE_MS,
      statement_timeout: 0,
      lock_timeout: options.lockTimeoutMs,
      keepAlive: true,
    },
  });
  try {
    await source.initialize();
    const missing = await new MigrationExecutor(source).getPendingMigrations();
    await onceUnlocked(() => source.runMigrations({ transaction: 'each' }), options);
    return missing.map(({ name }) => name);
  } catch (error) {
    throw toDatabaseError(error);
  } finally {
    if (source.isInitialized) await source.destroy().catch(() => undefined);
  }
}

async function onceUnlocked<T>(work: () => Promise<T>, { onLocked }: MigrateOptions): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (cause) {
      const error = toDatabaseError(cause);
      if (!isLocked(error)) throw error;
      onLocked?.(error.message);
      await delay(LOCKED_PAUSE_MS);
    }
  }
}
