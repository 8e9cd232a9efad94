import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createKubeClient, type KubeClient } from '@coxswain/kube';
import { Database, isUnavailable } from '@coxswain/persistence';
import { PlannerThread } from '@coxswain/planner-thread';
import { createMetrics, type Logger, type Metrics } from '@coxswain/telemetry';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Infrastructure } from './app.module.ts';
import { ensureAdministrator } from './auth/administrators.ts';
import { expiryOf } from './auth/token-expiry.ts';
import type { Config } from './config/config.ts';
import { LiveJobs } from './streams/live-jobs.ts';
import { OpenStreams } from './streams/open-streams.ts';
import { databaseCheck, kubernetesVersionCheck, Readiness } from './health/readiness.ts';
import { createHttpServer } from './http-server.ts';
import { PageTokens } from './http/page-token.ts';
import { ensureCluster, ensurePageTokenSecret } from './infrastructure/installation.ts';
import type { WallClock } from './infrastructure/tokens.ts';
import { removeExpiredKeys } from './http/key-expiry.ts';
import { ApplyQueue } from './outbox/apply-queue.ts';
import { ClusterWriter } from './outbox/cluster-writer.ts';
import { PostgresJobRowStore } from './outbox/job-row-store.ts';
import { LeaderDuties } from './projection/leader-duties.ts';
import { Projector } from './projection/projector.ts';
import { SeriesStore } from './series/series-store.ts';
import { seriesMetrics, SeriesSubscriber } from './series/series-subscriber.ts';

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
  readonly infrastructure: Infrastructure;
  /** Absent in a process that only carries jobs to the cluster. */
  readonly app: NestFastifyApplication;
  /** Base URL. A worker serves its health there, and the API too: nobody is sent to it. */
  readonly url: string;
  /** Unready first, then what is under way ends, then connections close. */
  close(): Promise<void>;
}

/** Something that runs until it is closed. */
interface Part {
  close(): Promise<void>;
}

/** Connects, migrates, and starts what the configured role asks for. */
export async function startApi(config: Config, options: StartOptions): Promise<RunningApi> {
  const infrastructure = await buildInfrastructure(config, options);
  const app = await createHttpServer(infrastructure);
  const parts: Part[] = [];
  if (config.role !== 'worker') parts.push(startMirroring(infrastructure));
  if (config.role !== 'api') parts.push(startCarrying(infrastructure));
  infrastructure.liveJobs.start();
  await app.listen(config.listen.port, config.listen.host);
  return {
    app,
    infrastructure,
    url: await app.getUrl(),
    close: async () => {
      infrastructure.readiness.stop();
      infrastructure.openStreams.close();
      await infrastructure.planner.close();
      await Promise.all([app.close(), ...parts.map((part) => part.close())]);
      await infrastructure.liveJobs.close();
      await infrastructure.kube.close();
      await infrastructure.database.close();
    },
  };
}

/** The cluster is mirrored by one replica at a time. */
function startMirroring(infrastructure: Infrastructure): Part {
  const { config, database, cluster, kube, logger, metrics, readiness } = infrastructure;
  const counters = seriesMetrics(metrics);
  let projector: Projector | undefined;
  const leader = new LeaderDuties({ url: database.url, lockName: `coxswain/mirror/${cluster.id}`, logger }, () => {
    const projecting = new Projector({ database, cluster, kube, logger });
    projector = projecting;
    const store = new SeriesStore(database, cluster);
    const subscriber = new SeriesSubscriber({ operator: config.operator, store, logger, metrics: counters });
    return [
      (signal) => projecting.run(signal),
      (signal) => subscriber.run(signal),
      (signal) => removeExpiredKeys({ database, logger }, signal),
    ];
  });
  readiness.add({
    name: 'projector',
    check: () =>
      leader.isLeader && projector?.isSynced !== true ? 'has not compared every row with the cluster yet' : undefined,
  });
  metrics.gauge({
    name: 'coxswain_api_mirror_leader',
    help: 'Whether this replica mirrors the cluster.',
    collect: () => (leader.isLeader ? 1 : 0),
  });
  metrics.gauge({
    name: 'coxswain_api_cluster_outage_seconds',
    help: 'For how long the mirroring replica has not heard the cluster.',
    collect: () => (leader.isLeader ? (projector?.outageMs() ?? 0) / 1000 : 0),
  });
  leader.start();
  return leader;
}

function startCarrying(infrastructure: Infrastructure): Part {
  const { database, cluster, kube, logger, metrics } = infrastructure;
  const queue = new ApplyQueue({
    database,
    cluster,
    writer: new ClusterWriter({ rows: new PostgresJobRowStore(database, cluster), kube }),
    logger,
    metrics,
  });
  queue.start();
  return queue;
}

async function buildInfrastructure(config: Config, options: StartOptions): Promise<Infrastructure> {
  const { logger } = options;
  const database = await connectWhenThere(config, options);
  const migrated = await database.migrate({
    onLocked: (message) => logger.warn({ reason: message }, 'a migration waits for a table that is in use'),
  });
  if (migrated.length > 0) logger.info({ migrations: migrated }, 'database migrated');
  const cluster = await ensureCluster(database, config.cluster);
  const clock = options.clock ?? { now: () => new Date() };
  await bootstrapAdministrator({ config, database, logger, clock });
  const readiness = new Readiness();
  readiness.add(databaseCheck(database));
  const kube =
    options.kube ??
    createKubeClient({
      userAgent: 'coxswain-api',
      fieldManager: 'coxswain-api',
      ...(config.kubeconfigPath === undefined ? {} : { kubeconfigPath: config.kubeconfigPath }),
    });
  readiness.add(kubernetesVersionCheck(kube));
  return {
    config,
    database,
    cluster,
    kube,
    logger,
    metrics: options.metrics ?? createMetrics({ processMetrics: true }),
    clock,
    pageTokens: new PageTokens(await ensurePageTokenSecret(database)),
    readiness,
    liveJobs: new LiveJobs(database.url),
    openStreams: new OpenStreams(),
    planner: new PlannerThread(),
  };
}

/** For an installation of one machine: its owner finds the token in a file. */
async function bootstrapAdministrator(
  infrastructure: Pick<Infrastructure, 'config' | 'database' | 'logger' | 'clock'>,
): Promise<void> {
  const { config, database, logger, clock } = infrastructure;
  const file = config.bootstrapTokenFile;
  if (file === undefined) return;
  const made = await ensureAdministrator(database, {
    name: 'bootstrap',
    expiresAt: expiryOf({ neverExpires: false }, { now: clock.now(), lifetimeDays: config.tokenLifetimeDays }),
    keep: (token) => writeFileSync(file, `${token}\n`, { mode: 0o600 }),
  });
  if (made !== undefined) logger.info({ file, expiresAt: made.expires_at }, 'wrote the first administrator’s token');
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
