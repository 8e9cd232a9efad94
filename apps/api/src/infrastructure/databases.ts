import { setTimeout as delay } from 'node:timers/promises';
import {
  type AccessRoles,
  Database,
  isUnavailable,
  migrateDatabase,
  namesOfRoles,
  QUEUE_SCHEMA,
  roleFacts,
  roleProblem,
  TenantDatabase,
} from '@coxswain/persistence';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { runMigrations as migrateQueue } from 'bullmq';
import type { Config } from '../config/config.ts';

/** The database, seen by requests and seen by what goes on by itself. */
export interface Databases {
  readonly tenantDatabase: TenantDatabase;
  readonly database: Database;
}

/** What a start tells and listens to. */
export interface Start {
  readonly logger: Logger;
  /** Ends waiting for the database. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the database has answered a request. */
  readonly onAnswer?: () => void;
}

const WAY_OUT =
  'Make the roles with apps/api/dist/database-roles.js and give the API the URLs that it prints (docs/tasks/set-up-database-roles.md). To go on until then with one role, and with the API’s own filters as the only wall between projects, set COXSWAIN_DATABASE_SINGLE_ROLE=true (api.databaseSingleRole of the chart)';

/**
 * Waits for the database, refuses a role that policies would not bind, migrates, and connects. The refusal comes first: what an installation has is left as
 * it is, and replicas of the release before go on with it.
 */
export async function openDatabases(
  config: Config,
  { metrics, ...start }: Start & { readonly metrics?: Metrics },
): Promise<Databases> {
  const { logger } = start;
  const roles = await whenThere(() => rolesToUse(config), start);
  if (roles === undefined) {
    logger.warn(
      'one role does everything in the database: no policy keeps projects apart (COXSWAIN_DATABASE_SINGLE_ROLE)',
    );
  }
  await migrate(config, {
    roles,
    onLocked: (reason) => logger.warn({ reason }, 'a migration waits for a table that is in use'),
  }).then((migrations) => migrations.length > 0 && logger.info({ migrations }, 'database migrated'));
  const options = {
    applicationName: `coxswain-api/${config.role}`,
    onIdleError: (reason: string) => logger.warn({ reason }, 'a database connection broke'),
  };
  const most = config.databaseConnections;
  const rejected = metrics?.counter({
    name: 'coxswain_api_database_rejected_total',
    help: 'Transactions that got no connection to the database in time.',
    labelNames: [],
  });
  rejected?.inc({}, 0);
  const tenantDatabase = await TenantDatabase.connect({
    ...options,
    url: config.databaseUrls.runtime,
    maxConnections: most,
    onAnswer: start.onAnswer ?? (() => undefined),
    onRejected: () => rejected?.inc({}),
  });
  metrics?.gauges({
    name: 'coxswain_api_database_transactions',
    help: 'Transactions of requests that hold a connection to the database, or wait for one.',
    labelNames: ['state'],
    collect: () => Object.entries(tenantDatabase.load).map(([state, value]) => ({ labels: { state }, value })),
  });
  return {
    tenantDatabase,
    database: await Database.connect({
      ...options,
      url: config.databaseUrls.system,
      maxConnections: Math.max(2, Math.ceil(most / 2)),
      onAnswer: start.onAnswer ?? (() => undefined),
      onRejected: () => rejected?.inc({}),
    }),
  };
}

/** Runs the migrations that are missing, those of the queue's tables too, and lets the roles in. Returns the names of ours. */
export function migrate(
  config: Pick<Config, 'databaseUrls'>,
  how: { readonly roles: AccessRoles | undefined; readonly onLocked: (message: string) => void },
): Promise<readonly string[]> {
  return migrateDatabase({
    url: config.databaseUrls.migrator,
    ...how,
    also: (client) => migrateQueue(client, QUEUE_SCHEMA),
  });
}

/** The roles of the URLs; undefined when there is to be one only. Throws a sentence that says what to do when policies would not bind the one of requests. */
export async function rolesToUse(
  config: Pick<Config, 'databaseUrls' | 'hasSingleDatabaseRole'>,
): Promise<AccessRoles | undefined> {
  const roles = await namesOfRoles(config.databaseUrls);
  const facts = await roleFacts(config.databaseUrls.runtime, roles.system);
  if (config.hasSingleDatabaseRole) {
    if (!facts.seesNothing) return undefined;
    throw new Error(
      `the database has policies already, and they hide every row from the role "${facts.name}" of DATABASE_URL. Give the API the URLs of the roles, and take COXSWAIN_DATABASE_SINGLE_ROLE away (docs/tasks/set-up-database-roles.md).`,
    );
  }
  const problem = roleProblem(facts);
  if (problem === undefined) return roles;
  throw new Error(`the database role "${facts.name}" of DATABASE_URL ${problem}. ${WAY_OUT}.`);
}

/** A database that starts later than we do is no reason to end. */
async function whenThere<T>(ask: () => Promise<T>, { logger, signal }: Start): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (tries === 0) logger.warn({ reason: (error as Error).message }, 'waiting for the database');
      await delay(Math.min(2_000, 100 * 2 ** tries), undefined, signal === undefined ? {} : { signal });
    }
  }
}
