import {
  ConnectionPool,
  type DatabaseOptions,
  DEFAULT_CONNECTIONS,
  type NamedStatement,
  type Sql,
} from './connection-pool.ts';
import type { DatabaseFunction } from './access/functions.ts';
import type { Scope } from './scope.ts';
import { claimOf, type GateOptions, ofSystem, PoolGate, STATEMENT_BUDGET_MS, type Work } from './pool-gate.ts';

/** Limits of the pool, and the callback for answers. */
export interface TenantDatabaseOptions extends DatabaseOptions {
  /** Called when an answer has arrived, in the asynchronous context of who asked, before it goes on. Must not throw. */
  readonly onAnswer?: () => void;
}

/** Runs statements within one transaction that sees the rows of its scope alone. */
export interface ScopedSql extends Sql {
  /** Narrows a scope that sees several projects: from here on the transaction sees only the named one. */
  narrowTo(projectId: string): Promise<void>;
}

/**
 * The database as requests see it. The policies of its tables compare each row with the scope of the transaction, which is set as it begins and gone when
 * it ends; without one they find nothing. A statement can be run only `within` a scope: there is no other way to one.
 *
 * Connections are shared by projects and principals ({@link PoolGate}): work waits for its turn, and rejects with a `PoolBusyError` if that takes too long. Do not wait
 * for a second transaction inside of one: it may have to wait for the first.
 */
export class TenantDatabase {
  readonly #pool: ConnectionPool;
  readonly #gate: PoolGate;
  readonly #onAnswer: () => void;

  private constructor(pool: ConnectionPool, gate: PoolGate, onAnswer: () => void) {
    this.#pool = pool;
    this.#gate = gate;
    this.#onAnswer = onAnswer;
  }

  /** Connects once, so that a wrong address is known at the start. */
  static async connect(options: TenantDatabaseOptions & GateOptions): Promise<TenantDatabase> {
    const gate = new PoolGate(options.maxConnections ?? DEFAULT_CONNECTIONS, options);
    const pool = await ConnectionPool.connect({ ...options, isPipelined: true });
    return new TenantDatabase(pool, gate, options.onAnswer ?? (() => undefined));
  }

  /** Work of tenants that holds a connection, and that waits for one. */
  get load(): PoolGate['load'] {
    return this.#gate.load;
  }

  /** Runs `work` in one transaction: all of it or, if it throws, nothing. Absent `kind`: it changes rows, or reads them by key. */
  async within<T>(scope: Scope, work: (sql: ScopedSql) => Promise<T>, kind: Work = 'change'): Promise<T> {
    return this.#gate.pass(claimOf(scope, kind), () =>
      this.#pool.transaction(beginWithin(scope, kind), (sql) => work(scopedSql(sql, scope, this.#onAnswer))),
    );
  }

  /** For who reads by one statement: the same in one packet. */
  async ask<Row>(
    scope: Scope,
    statement: string | NamedStatement,
    parameters: readonly unknown[],
    kind: Work = 'key',
  ): Promise<readonly Row[]> {
    const { rows } = await this.#gate.pass(claimOf(scope, kind), () =>
      this.#pool.transactionOf<Row>(beginWithin(scope, kind), statement, parameters),
    );
    this.#onAnswer();
    return rows;
  }

  /** What may be asked before it is known who asks: a function that answers that and nothing else. */
  async call<Row>(name: DatabaseFunction, parameters: readonly unknown[]): Promise<readonly Row[]> {
    const places = parameters.map((_, index) => `$${index + 1}`).join(', ');
    const { rows } = await this.#gate.pass(ofSystem(name), () =>
      this.#pool.query<Row>(`SELECT * FROM ${name}(${places})`, parameters),
    );
    this.#onAnswer();
    return rows;
  }

  /** Rejects unless the database answers a trivial question in time. */
  async ping(): Promise<void> {
    await this.#gate.pass(ofSystem('ping'), () => this.#pool.query('SELECT 1'));
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/**
 * An expression for a statement: from the next one on, policies look up the job of that UID once for a statement instead of once for each row that they let through.
 * It shows nothing that would not be seen without it. For who reads thousands of rows of one job.
 */
export const ofJob = (uid: string): string => `set_config('coxswain.job_uid', ${uid}, true)`;

/** In place of ids of projects, for those who may see every project of the cluster. */
const EVERY_PROJECT = '*';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * One message, so that a scope costs no round trip of its own. A message of several statements takes no parameters: the values are checked and written into it.
 * The third argument makes a setting end with the transaction: the next user of the connection never meets it.
 */
function beginWithin({ clusterId, principalId, reach }: Scope, kind: Work): string {
  const projects = reach.kind === 'cluster' ? EVERY_PROJECT : reach.ids.map(uuid).join(',');
  return `BEGIN; SELECT set_config('coxswain.cluster_id', '${uuid(clusterId)}', true),
    set_config('coxswain.project_ids', '${projects}', true), set_config('coxswain.principal_id', '${uuid(principalId)}', true),
    set_config('statement_timeout', '${STATEMENT_BUDGET_MS[kind]}', true)`;
}

function scopedSql(sql: Sql, { reach }: Scope, onAnswer: () => void): ScopedSql {
  return {
    query: async <Row>(statement: string | NamedStatement, parameters?: readonly unknown[]) => {
      const answer = await sql.query<Row>(statement, parameters);
      onAnswer();
      return answer;
    },
    narrowTo: async (projectId) => {
      if (reach.kind === 'projects' && reach.ids.length === 1 && reach.ids[0] === projectId) return;
      if (reach.kind === 'projects' && !reach.ids.includes(projectId))
        throw new Error('a scope can be narrowed, not moved');
      await sql.query("SELECT set_config('coxswain.project_ids', $1, true)", [uuid(projectId)]);
    },
  };
}

function uuid(text: string): string {
  if (UUID.test(text)) return text;
  throw new Error(`a scope is made of UUIDs, and ${JSON.stringify(text.slice(0, 40))} is none`);
}
