import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, type DataSourceOptions, MigrationExecutor, type QueryRunner } from 'typeorm';
import { CONNECT_DEADLINE_MS } from './connect-deadline.ts';
import { isLocked, toDatabaseError } from './errors.ts';
import { MIGRATIONS } from './migrations.ts';
import { withAdvisoryLock } from './advisory-lock.ts';

/** What a statement did. */
export interface SqlResult<Row> {
  readonly rows: readonly Row[];
  /** Rows that an INSERT, UPDATE or DELETE touched. */
  readonly affected: number;
}

/** Runs statements: on the pool, or within one transaction. Values travel as parameters, never inside the text. */
export interface Sql {
  query<Row = Record<string, unknown>>(text: string, parameters?: readonly unknown[]): Promise<SqlResult<Row>>;
}

/** Limits of the pool. */
export interface DatabaseOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly maxConnections?: number;
  /** A statement that runs longer is ended by the server. Default 5 000. */
  readonly statementTimeoutMs?: number;
  /** An idle connection broke; the pool replaces it by itself. */
  readonly onIdleError?: (message: string) => void;
}

/** How the migrations go about locks. */
export interface MigrateOptions {
  /** How long one statement waits for a lock: while it waits, everybody who comes later waits behind it. Default 3 000. */
  readonly lockTimeoutMs?: number;
  /** A lock was not to be had: the migration was taken back as a whole, and is tried again in a second. */
  readonly onLocked?: (message: string) => void;
}

/** Between two tries at a migration that found its table locked. */
const LOCKED_PAUSE_MS = 1_000;

/**
 * The database behind TypeORM's data source: pool, transactions and migrations. Statements are explicit SQL, and an update that depends on
 * what was read says so in its WHERE (compare and set). Every failure is a {@link DatabaseError}.
 */
export class Database implements Sql {
  readonly #source: DataSource;
  readonly url: string;

  private constructor(source: DataSource, url: string) {
    this.#source = source;
    this.url = url;
  }

  /** Connects once, so that a wrong address is known at the start. */
  static async connect(options: DatabaseOptions): Promise<Database> {
    const source = new DataSource({
      type: 'postgres',
      url: options.url,
      applicationName: options.applicationName,
      migrations: [...MIGRATIONS],
      migrationsTableName: 'migrations',
      poolErrorHandler: (error: unknown) => options.onIdleError?.(toDatabaseError(error).message),
      extra: {
        max: options.maxConnections ?? 10,
        connectionTimeoutMillis: CONNECT_DEADLINE_MS,
        statement_timeout: options.statementTimeoutMs ?? 5_000,
        idle_in_transaction_session_timeout: 15_000,
        keepAlive: true,
      },
    });
    try {
      await source.initialize();
    } catch (error) {
      throw toDatabaseError(error);
    }
    return new Database(source, options.url);
  }

  /**
   * Runs the migrations that are missing, on a connection of their own: a statement may take as long as its table is large, and waits for a lock only
   * so long that nobody is held up behind it. Replicas that start together wait for each other. Returns their names.
   */
  async migrate(options: MigrateOptions = {}): Promise<readonly string[]> {
    return withAdvisoryLock({ url: this.url, name: 'coxswain/migrations' }, async () => {
      const source = new DataSource(migrating(this.#source.options, options.lockTimeoutMs ?? 3_000));
      try {
        await source.initialize();
        return await runMigrations(source, options);
      } catch (error) {
        throw toDatabaseError(error);
      } finally {
        if (source.isInitialized) await source.destroy().catch(() => undefined);
      }
    });
  }

  async query<Row>(text: string, parameters: readonly unknown[] = []): Promise<SqlResult<Row>> {
    const runner = this.#source.createQueryRunner();
    try {
      return await runOn<Row>(runner, { text, parameters });
    } finally {
      await runner.release().catch(() => undefined);
    }
  }

  /** Runs `work` in one transaction: all of it or, if it throws, nothing. */
  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const runner = this.#source.createQueryRunner();
    try {
      await runner.startTransaction().catch((error: unknown) => Promise.reject(toDatabaseError(error)));
      const result = await work({ query: (text, parameters = []) => runOn(runner, { text, parameters }) });
      await runner.commitTransaction().catch((error: unknown) => Promise.reject(toDatabaseError(error)));
      return result;
    } catch (error) {
      // The connection may be gone, and with it the transaction: only the first failure matters.
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await runner.release().catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    if (this.#source.isInitialized) await this.#source.destroy().catch(() => undefined);
  }
}

function migrating(options: DataSourceOptions, lockTimeoutMs: number): DataSourceOptions {
  const { extra } = options as { readonly extra?: object };
  const limits = { max: 1, statement_timeout: 0, lock_timeout: lockTimeoutMs };
  return { ...options, extra: { ...extra, ...limits } } as DataSourceOptions;
}

async function runMigrations(source: DataSource, { onLocked }: MigrateOptions): Promise<readonly string[]> {
  const missing = await new MigrationExecutor(source).getPendingMigrations();
  for (;;) {
    try {
      await source.runMigrations({ transaction: 'each' });
      return missing.map(({ name }) => name);
    } catch (cause) {
      const error = toDatabaseError(cause);
      if (!isLocked(error)) throw error;
      onLocked?.(error.message);
      await delay(LOCKED_PAUSE_MS);
    }
  }
}

/** The first row, or undefined. */
export function firstOf<Row>(result: SqlResult<Row>): Row | undefined {
  return result.rows[0];
}

async function runOn<Row>(
  runner: QueryRunner,
  statement: { readonly text: string; readonly parameters: readonly unknown[] },
): Promise<SqlResult<Row>> {
  try {
    const result = await runner.query(statement.text, [...statement.parameters], true);
    return { rows: (result.records ?? []) as readonly Row[], affected: result.affected ?? 0 };
  } catch (error) {
    throw toDatabaseError(error);
  }
}
