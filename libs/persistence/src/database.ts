import type { TurnGate } from '@coxswain/units';
import {
  ConnectionPool,
  type DatabaseOptions,
  DEFAULT_CONNECTIONS,
  type NamedStatement,
  type Sql,
  type SqlResult,
} from './connection-pool.ts';
import { gateOfPurposes, type GateOptions } from './pool-gate.ts';

/** Limits of the pool, and the callback for answers. */
interface SystemDatabaseOptions extends DatabaseOptions, GateOptions {
  /** Called when an answer has arrived, in the asynchronous context of who asked. Must not throw. */
  readonly onAnswer?: () => void;
}

/** What all views of one database share. */
interface Shared {
  readonly pool: ConnectionPool;
  readonly gate: TurnGate;
  readonly url: string;
  readonly onAnswer: () => void;
}

/**
 * The database as its own programs see it: what mirrors a cluster, carries jobs to it, and looks after tokens. The role of its URL sees every row, so
 * nothing that answers a request of a tenant uses it: see {@link TenantDatabase}. Statements are explicit SQL, and an update that depends on what was read says so
 * in its WHERE (compare and set).
 *
 * Programs share its connections by their purposes: one purpose leaves connections to the others. Do not wait for a second transaction inside of one.
 */
export class Database implements Sql {
  readonly #shared: Shared;
  readonly #purpose: string;

  private constructor(shared: Shared, purpose: string) {
    this.#shared = shared;
    this.#purpose = purpose;
  }

  /** Connects once, so that a wrong address is known at the start. */
  static async connect(options: SystemDatabaseOptions): Promise<Database> {
    const gate = gateOfPurposes(options.maxConnections ?? DEFAULT_CONNECTIONS, options);
    const pool = await ConnectionPool.connect(options);
    return new Database({ pool, gate, url: options.url, onAnswer: options.onAnswer ?? (() => undefined) }, 'other');
  }

  get url(): string {
    return this.#shared.url;
  }

  /** The same database for one purpose, such as sign-ins. Closing one closes all. */
  shareOf(purpose: string): Database {
    return new Database(this.#shared, purpose);
  }

  query<Row>(statement: string | NamedStatement, parameters: readonly unknown[] = []): Promise<SqlResult<Row>> {
    return this.#inTurn(() => this.#shared.pool.query<Row>(statement, parameters));
  }

  /** Runs `work` in one transaction: all of it or, if it throws, nothing. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#shared.pool.transaction('BEGIN', work));
  }

  close(): Promise<void> {
    return this.#shared.pool.close();
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const claim = { tenant: this.#purpose, member: this.#purpose, isSlow: false };
    try {
      return await this.#shared.gate.pass(claim, work);
    } finally {
      this.#shared.onAnswer();
    }
  }
}

/** The first row, or undefined. */
export function firstOf<Row>(result: SqlResult<Row>): Row | undefined {
  return result.rows[0];
}
