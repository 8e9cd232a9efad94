import {
  ConnectionPool,
  type DatabaseOptions,
  type NamedStatement,
  type Sql,
  type SqlResult,
} from './connection-pool.ts';

/**
 * The database as its own programs see it: what mirrors a cluster, carries jobs to it, and looks after tokens. The role of its URL sees every row, so
 * nothing that answers a request uses it: see {@link TenantDatabase}. Statements are explicit SQL, and an update that depends on what was read says so
 * in its WHERE (compare and set).
 */
export class Database implements Sql {
  readonly #pool: ConnectionPool;
  readonly url: string;

  private constructor(pool: ConnectionPool, url: string) {
    this.#pool = pool;
    this.url = url;
  }

  /** Connects once, so that a wrong address is known at the start. */
  static async connect(options: DatabaseOptions): Promise<Database> {
    return new Database(await ConnectionPool.connect(options), options.url);
  }

  query<Row>(statement: string | NamedStatement, parameters: readonly unknown[] = []): Promise<SqlResult<Row>> {
    return this.#pool.query<Row>(statement, parameters);
  }

  /** Runs `work` in one transaction: all of it or, if it throws, nothing. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#pool.transaction('BEGIN', work);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** The first row, or undefined. */
export function firstOf<Row>(result: SqlResult<Row>): Row | undefined {
  return result.rows[0];
}
