import { createKubeClient, type KubeClient } from '@coxswain/kube';
import { Database, isUnavailable } from '@coxswain/persistence';
import { createMetrics, type Logger, type Metrics } from '@coxswain/telemetry';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { setTimeout as delay } from 'node:timers/promises';
import type { Infrastructure } from './app.module.ts';
import type { Config } from './config/config.ts';
import { databaseCheck, Readiness } from './health/readiness.ts';
import { createHttpServer } from './http/http-server.ts';
import { PageTokens } from './http/page-token.ts';
import { ensureBootstrapAdministrator, ensureCluster, ensurePageTokenSecret } from './infrastructure/installation.ts';
import type { WallClock } from './infrastructure/tokens.ts';

/** What a test may replace. */
export interface StartOptions {
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly kube?: KubeClient;
  readonly clock?: WallClock;
  /** Ends waiting for the database. */
  readonly signal?: AbortSignal;
}

/** A running API process. */
export interface RunningApi {
  readonly app: NestFastifyApplication;
  readonly infrastructure: Infrastructure;
  /** Base URL, once it listens. */
  readonly url: string;
  /** Unready first, then what is under way ends, then connections close. */
  close(): Promise<void>;
}

/** Connects, migrates, and starts what the configured role asks for. */
export async function startApi(config: Config, options: StartOptions): Promise<RunningApi> {
  const infrastructure = await buildInfrastructure(config, options);
  const app = await createHttpServer(infrastructure);
  await app.listen(config.listen.port, config.listen.host);
  return {
    app,
    infrastructure,
    url: await app.getUrl(),
    close: async () => {
      infrastructure.readiness.stop();
      await app.close();
      await infrastructure.kube.close();
      await infrastructure.database.close();
    },
  };
}

async function buildInfrastructure(config: Config, options: StartOptions): Promise<Infrastructure> {
  const { logger } = options;
  const database = await connectWhenThere(config, options);
  const migrated = await database.migrate();
  if (migrated.length > 0) logger.info({ migrations: migrated }, 'database migrated');
  const cluster = await ensureCluster(database, config.cluster);
  if (
    config.bootstrapTokenFile !== undefined &&
    (await ensureBootstrapAdministrator(database, config.bootstrapTokenFile))
  ) {
    logger.info({ file: config.bootstrapTokenFile }, 'wrote the first administrator’s token');
  }
  const readiness = new Readiness();
  readiness.add(databaseCheck(database));
  const kube =
    options.kube ??
    createKubeClient({
      userAgent: 'coxswain-api',
      fieldManager: 'coxswain-api',
      ...(config.kubeconfigPath === undefined ? {} : { kubeconfigPath: config.kubeconfigPath }),
    });
  return {
    config,
    database,
    cluster,
    kube,
    logger,
    metrics: options.metrics ?? createMetrics({ processMetrics: true }),
    clock: options.clock ?? { now: () => new Date() },
    pageTokens: new PageTokens(await ensurePageTokenSecret(database)),
    readiness,
  };
}

/** A database that starts later than we do is no reason to end. */
async function connectWhenThere(config: Config, options: StartOptions): Promise<Database> {
  for (let tries = 0; ; tries++) {
    try {
      return await Database.connect({
        url: config.databaseUrl,
        applicationName: `coxswain-api/${config.role}`,
        maxConnections: config.databaseConnections,
        onIdleError: (message) => options.logger.warn({ reason: message }, 'a database connection broke'),
      });
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (tries === 0) options.logger.warn({ reason: (error as Error).message }, 'waiting for the database');
      await delay(
        Math.min(2_000, 100 * 2 ** tries),
        undefined,
        options.signal === undefined ? {} : { signal: options.signal },
      );
    }
  }
}
