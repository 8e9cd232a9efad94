import { Pool, type PoolClient } from 'pg';
import { CONNECT_DEADLINE_MS } from './connect-deadline.ts';
import { DatabaseError, toDatabaseError } from './errors.ts';

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

/** Connections to one database as one role. Every failure is a {@link DatabaseError}. */
export class ConnectionPool {
  readonly #pool: Pool;

  private constructor(options: DatabaseOptions) {
    this.#pool = new Pool({
      connectionString: options.url,
      application_name: options.applicationName,
      max: options.maxConnections ?? 10,
      connectionTimeoutMillis: CONNECT_DEADLINE_MS,
      statement_timeout: options.statementTimeoutMs ?? 5_000,
      idle_in_transaction_session_timeout: 15_000,
      keepAlive: true,
    });
    this.#pool.on('error', (error: unknown) => options.onIdleError?.(toDatabaseError(error).message));
    // One that breaks between two statements tells the next statement; without a listener it would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /** Connects once, so that a wrong address is known at the start. */
  static async connect(options: DatabaseOptions): Promise<ConnectionPool> {
    const pool = new ConnectionPool(options);
    try {
      await pool.query('SELECT 1');
      return pool;
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  async query<Row>(text: string, parameters: readonly unknown[] = []): Promise<SqlResult<Row>> {
    const client = await this.#client();
    try {
      return await runOn<Row>(client, text, parameters);
    } finally {
      client.release();
    }
  }

  /** Runs `work` in the transaction that `begin` opens: all of it or, if it throws, nothing. */
  async transaction<T>(begin: string, work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#client();
    const sql = new OpenTransaction(client);
    let isLost = false;
    try {
      await runOn(client, begin, []);
      const result = await work(sql);
      await sql.end();
      await commit(client);
      return result;
    } catch (error) {
      await sql.end();
      // The connection may be gone, and with it the transaction: only the first failure matters.
      await client.query('ROLLBACK').catch(() => (isLost = true));
      throw error;
    } finally {
      client.release(isLost);
    }
  }

  async close(): Promise<void> {
    if (!this.#pool.ended && !this.#pool.ending) await this.#pool.end().catch(() => undefined);
  }

  #client(): Promise<PoolClient> {
    return this.#pool.connect().catch((error: unknown) => Promise.reject(toDatabaseError(error)));
  }
}

/** One statement after the other, as the connection takes them; none once the transaction has ended, when the connection is somebody else's. */
class OpenTransaction implements Sql {
  readonly #client: PoolClient;
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  query<Row>(text: string, parameters: readonly unknown[] = []): Promise<SqlResult<Row>> {
    if (this.#isOver) {
      return Promise.reject(new Error('the transaction has ended; await each statement inside of it'));
    }
    const result = this.#last.then(() => runOn<Row>(this.#client, text, parameters));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#last;
  }
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT').catch((error: unknown) => Promise.reject(toDatabaseError(error)));
  if (command === 'COMMIT') return;
  throw new DatabaseError({ code: '25P02', message: 'nothing was written: a statement of the transaction had failed' });
}

async function runOn<Row>(client: PoolClient, text: string, parameters: readonly unknown[]): Promise<SqlResult<Row>> {
  try {
    const { rows, rowCount } = await client.query(text, [...parameters]);
    return { rows: (rows ?? []) as readonly Row[], affected: rowCount ?? 0 };
  } catch (error) {
    throw toDatabaseError(error);
  }
}
