import type { Writable } from 'node:stream';
import { Pool, type PoolClient } from 'pg';
import { CONNECT_DEADLINE_MS } from './connect-deadline.ts';
import { DatabaseError, toDatabaseError } from './errors.ts';

/** What a statement did. */
export interface SqlResult<Row> {
  readonly rows: readonly Row[];
  /** Rows that an INSERT, UPDATE or DELETE touched. */
  readonly affected: number;
}

/**
 * A statement that each connection plans once and keeps: planning one that looks into several tables under policies takes longer than running it. For a text that
 * never differs, has the same best plan whatever the parameters are, and names each column that it gives: should a migration change what it gives, it fails.
 */
export interface NamedStatement {
  /** No other text may have it. */
  readonly name: string;
  readonly text: string;
}

/** Runs statements: on the pool, or within one transaction. Values travel as parameters, never inside the text. */
export interface Sql {
  query<Row = Record<string, unknown>>(
    statement: string | NamedStatement,
    parameters?: readonly unknown[],
  ): Promise<SqlResult<Row>>;
}

export const DEFAULT_CONNECTIONS = 10;

/** Limits of the pool. */
export interface DatabaseOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Default {@link DEFAULT_CONNECTIONS}. */
  readonly maxConnections?: number;
  /** A statement that runs longer is ended by the server. Default 5 000. */
  readonly statementTimeoutMs?: number;
  /**
   * The first statement of a transaction is sent together with what begins it, and not after its answer. Only where a statement without a transaction does
   * nothing, as where policies ask for a scope that the transaction sets.
   */
  readonly isPipelined?: boolean;
  /** An idle connection broke; the pool replaces it by itself. */
  readonly onIdleError?: (message: string) => void;
}

/** Connections to one database as one role. Every failure is a {@link DatabaseError}. */
export class ConnectionPool {
  readonly #pool: Pool;
  readonly #isPipelined: boolean;

  private constructor(options: DatabaseOptions) {
    this.#isPipelined = options.isPipelined === true;
    this.#pool = new Pool({
      connectionString: options.url,
      application_name: options.applicationName,
      max: options.maxConnections ?? DEFAULT_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_DEADLINE_MS,
      statement_timeout: options.statementTimeoutMs ?? 5_000,
      idle_in_transaction_session_timeout: 15_000,
      keepAlive: true,
      ...(options.isPipelined === true ? { pipeline: true } : {}),
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

  async query<Row>(statement: string | NamedStatement, parameters: readonly unknown[] = []): Promise<SqlResult<Row>> {
    const client = await this.#client();
    try {
      return await runOn<Row>(client, statement, parameters);
    } finally {
      client.release();
    }
  }

  /** Runs `work` in the transaction that `begin` opens: all of it or, if it throws, nothing. */
  async transaction<T>(begin: string, work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#client();
    if (this.#isPipelined) holdMessages(client);
    const begun = runOn(client, begin, []);
    const sql = new OpenTransaction(client, begun, this.#isPipelined);
    let isLost = false;
    try {
      if (!this.#isPipelined) await begun;
      const result = await work(sql);
      await sql.end();
      await commit(client);
      return result;
    } catch (error) {
      await sql.end().catch(() => undefined);
      // The connection may be gone, and with it the transaction: only the first failure matters.
      await client.query('ROLLBACK').catch(() => (isLost = true));
      throw error;
    } finally {
      client.release(isLost);
    }
  }

  /** One statement in a transaction of its own. Where statements are pipelined, all of it is one packet there and one back. */
  async transactionOf<Row>(
    begin: string,
    statement: string | NamedStatement,
    parameters: readonly unknown[],
  ): Promise<SqlResult<Row>> {
    if (!this.#isPipelined) return this.transaction(begin, (sql) => sql.query<Row>(statement, parameters));
    const client = await this.#client();
    holdMessages(client);
    const answers = await Promise.allSettled([
      runOn(client, begin, []),
      runOn<Row>(client, statement, parameters),
      commit(client),
    ]);
    const failed = answers.find((answer) => answer.status === 'rejected');
    // The transaction may be open still; what cannot be taken back is closed.
    const isLost =
      failed !== undefined &&
      (await client.query('ROLLBACK').then(
        () => false,
        () => true,
      ));
    client.release(isLost);
    if (failed !== undefined) throw failed.reason;
    const [, answer] = answers;
    return answer.status === 'fulfilled' ? answer.value : { rows: [], affected: 0 };
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
  readonly #begun: Promise<unknown>;
  #last: Promise<unknown>;
  #isOver = false;

  constructor(client: PoolClient, begun: Promise<unknown>, isPipelined: boolean) {
    this.#client = client;
    this.#begun = begun;
    this.#last = isPipelined ? Promise.resolve() : begun;
    begun.catch(() => undefined);
  }

  query<Row>(statement: string | NamedStatement, parameters: readonly unknown[] = []): Promise<SqlResult<Row>> {
    if (this.#isOver) {
      return Promise.reject(new Error('the transaction has ended; await each statement inside of it'));
    }
    const result = this.#last.then(() => runOn<Row>(this.#client, statement, parameters));
    this.#last = result.catch(() => undefined);
    // What came of a statement before which no transaction had begun is shown to nobody.
    return this.#begun.then(() => result);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#last;
    await this.#begun;
  }
}

/** What is sent until this turn of the event loop ends goes as one packet: the message that begins a transaction, and its first statement. */
function holdMessages(client: PoolClient): void {
  const { stream } = (client as PoolClient & { readonly connection: { readonly stream: Writable } }).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT').catch((error: unknown) => Promise.reject(toDatabaseError(error)));
  if (command === 'COMMIT') return;
  throw new DatabaseError({ code: '25P02', message: 'nothing was written: a statement of the transaction had failed' });
}

async function runOn<Row>(
  client: PoolClient,
  statement: string | NamedStatement,
  parameters: readonly unknown[],
): Promise<SqlResult<Row>> {
  const named = typeof statement === 'string' ? { text: statement } : statement;
  try {
    const { rows, rowCount } = await client.query({ ...named, values: [...parameters] });
    return { rows: (rows ?? []) as readonly Row[], affected: rowCount ?? 0 };
  } catch (error) {
    throw toDatabaseError(error);
  }
}
