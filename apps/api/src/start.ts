import { writeFileSync } from 'node:fs';
import { createKubeClient, type KubeClient, systemClock } from '@coxswain/kube';
import {
  createMetrics,
  type LivenessServer,
  type Logger,
  type Metrics,
  startLivenessServer,
} from '@coxswain/telemetry';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Infrastructure } from './app.module.ts';
import { ensureAdministrator } from './auth/administrators.ts';
import { AuditPusher } from './audit-push/audit-pusher.ts';
import { removeOldAudit } from './audit/audit-retention.ts';
import { removeUnusedCode } from './code/code-retention.ts';
import { Denials } from './auth/denials.ts';
import { expiryOf } from './auth/token-expiry.ts';
import type { Config } from './config/config.ts';
import { FabricRecorder } from './fabric/fabric-recorder.ts';
import { SeenNodes } from './fabric/seen-nodes.ts';
import { removeOldSnapshots } from './fabric/snapshot-retention.ts';
import { SnapshotStore } from './fabric/snapshot-store.ts';
import { FeedReader } from './streams/feed-reader.ts';
import { JobFanOut } from './streams/job-fan-out.ts';
import { LiveJobs } from './streams/live-jobs.ts';
import { databaseCheck, kubernetesVersionCheck, Readiness } from './health/readiness.ts';
import { keyOf } from './identity/seal.ts';
import { createHttpServer, type ServedRoute } from './http-server.ts';
import { PageTokens } from './http/page-token.ts';
import { openDatabases } from './infrastructure/databases.ts';
import { ensureCluster, ensurePageTokenSecret } from './infrastructure/installation.ts';
import type { WallClock } from './infrastructure/tokens.ts';
import { removeExpired } from './http/key-expiry.ts';
import { keepDeliveriesBounded } from './messages/delivery-retention.ts';
import { resumeRequest } from './limits/request-cpu.ts';
import { MessageCarrier } from './messages/message-carrier.ts';
import { ApplyQueue } from './outbox/apply-queue.ts';
import { ClusterWriter } from './outbox/cluster-writer.ts';
import { PostgresJobRowStore } from './outbox/job-row-store.ts';
import { plannerOf } from './plans/project-planner.ts';
import { LeaderDuties } from './projection/leader-duties.ts';
import { Projector } from './projection/projector.ts';
import { removeOldRecords } from './records/record-retention.ts';
import { removeExpiredSeries } from './series/series-retention.ts';
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
  /** Every route that it serves. */
  readonly routes: readonly ServedRoute[];
  /** Base URL. A worker serves its health there; clients are not routed to its API. */
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
  const liveness = await startLiveness(config, options.logger);
  const infrastructure = await buildInfrastructure(config, options);
  const { app, routes } = await createHttpServer(infrastructure);
  const parts: Part[] = [];
  if (config.role !== 'worker') parts.push(startMirroring(infrastructure, app.get(SeenNodes, { strict: false })));
  if (config.role !== 'api') parts.push(startCarrying(infrastructure), startTelling(infrastructure));
  infrastructure.liveJobs.start();
  infrastructure.denials.start();
  await app.listen(config.listen.port, config.listen.host);
  return {
    app,
    routes,
    infrastructure,
    url: await app.getUrl(),
    close: async () => {
      infrastructure.readiness.stop();
      infrastructure.stopping.abort();
      infrastructure.fanOut.close();
      await infrastructure.planner.close();
      await Promise.all([app.close(), ...parts.map((part) => part.close())]);
      await infrastructure.denials.close();
      await infrastructure.liveJobs.close();
      await infrastructure.kube.close();
      await Promise.all([infrastructure.tenantDatabase.close(), infrastructure.database.close()]);
      await liveness?.stop();
    },
  };
}

/** First, so that probes are answered while the database is away. */
async function startLiveness({ listen, liveness }: Config, logger: Logger): Promise<LivenessServer | undefined> {
  if (liveness.port === undefined) return undefined;
  return await startLivenessServer({
    listenHost: listen.host,
    listenPort: liveness.port,
    maxStallMs: liveness.maxStallMs,
    onDeath: (error) => logger.error({ err: error }, 'liveness probes are no longer answered'),
  });
}

/** The cluster is mirrored by one replica at a time. */
function startMirroring(infrastructure: Infrastructure, nodes: SeenNodes): Part {
  const { config, cluster, kube, clock, logger, metrics, readiness } = infrastructure;
  const database = infrastructure.database.shareOf('mirror');
  const retention = infrastructure.database.shareOf('retention');
  const counters = seriesMetrics(metrics);
  const pusher = new AuditPusher({
    ...{ database: infrastructure.database.shareOf('audit-push'), cluster, clock, logger, metrics },
    receiver: config.auditReceiver,
  });
  let projector: Projector | undefined;
  const leader = new LeaderDuties({ url: database.url, lockName: `coxswain/mirror/${cluster.id}`, logger }, () => {
    const projecting = new Projector({ database, cluster, kube, logger, namespaces: config.namespaces.confinedTo });
    projector = projecting;
    const store = new SeriesStore(database.shareOf('series'), cluster);
    const subscriber = new SeriesSubscriber({ operator: config.operator, store, logger, metrics: counters });
    const recorder = new FabricRecorder({
      nodes,
      store: new SnapshotStore(database, cluster),
      clock: systemClock,
      logger,
    });
    return [
      (signal) => projecting.run(signal),
      (signal) => recorder.run(signal),
      (signal) => subscriber.run(signal),
      (signal) => pusher.run(signal),
      (signal) => removeExpired({ database: retention, logger }, signal),
      (signal) => keepDeliveriesBounded({ database: retention, cluster, logger }, signal),
      (signal) =>
        removeOldAudit({ database: retention, cluster, retentionDays: config.auditRetentionDays, logger }, signal),
      (signal) =>
        removeExpiredSeries({ database: retention, cluster, logger, retention: config.seriesRetention }, signal),
      (signal) =>
        removeUnusedCode(
          {
            ...{ database: retention, cluster, logger, ...config.code },
            areRowsCurrent: () => projecting.isSynced && projecting.outageMs() === 0,
          },
          signal,
        ),
      (signal) => removeOldSnapshots({ database: retention, cluster, logger, days: config.recordBounds.days }, signal),
      (signal) => removeOldRecords({ database: retention, cluster, logger, bounds: config.recordBounds }, signal),
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
  const { config, cluster, kube, logger, metrics } = infrastructure;
  const database = infrastructure.database.shareOf('apply');
  const queue = new ApplyQueue({
    queueUrl: config.databaseUrls.queue,
    database,
    cluster,
    writer: new ClusterWriter({ rows: new PostgresJobRowStore(database, cluster), kube }),
    logger,
    metrics,
  });
  queue.start();
  return queue;
}

function startTelling({ config, database, cluster, webhookKey, clock, logger, metrics }: Infrastructure): Part {
  const carrier = new MessageCarrier({
    database: database.shareOf('webhooks'),
    cluster,
    key: webhookKey,
    rules: config.webhooks,
    mail: config.mail,
    clock,
    logger,
    metrics,
  });
  carrier.start();
  return carrier;
}

async function buildInfrastructure(config: Config, options: StartOptions): Promise<Infrastructure> {
  const { logger } = options;
  const metrics = options.metrics ?? createMetrics({ processMetrics: true });
  const { database, tenantDatabase } = await openDatabases(config, { ...options, metrics, onAnswer: resumeRequest });
  const cluster = await ensureCluster(database, config.cluster);
  const clock = options.clock ?? { now: () => new Date() };
  await bootstrapAdministrator({ config, database, logger, clock });
  const pageTokenSecret = await ensurePageTokenSecret(database);
  const readiness = new Readiness();
  readiness.add(databaseCheck(tenantDatabase));
  const kube =
    options.kube ??
    createKubeClient({
      userAgent: 'coxswain-api',
      fieldManager: 'coxswain-api',
      ...(config.kubeconfigPath === undefined ? {} : { kubeconfigPath: config.kubeconfigPath }),
    });
  readiness.add(kubernetesVersionCheck(kube));
  const liveJobs = new LiveJobs(database.url);
  return {
    config,
    database,
    tenantDatabase,
    cluster,
    kube,
    logger,
    metrics,
    clock,
    pageTokens: new PageTokens(pageTokenSecret),
    signInKey: keyOf(pageTokenSecret, 'pending-sign-in'),
    webhookKey: keyOf(pageTokenSecret, 'webhook-secrets'),
    readiness,
    liveJobs,
    fanOut: new JobFanOut({ reader: new FeedReader(tenantDatabase, cluster), live: liveJobs, logger }),
    stopping: new AbortController(),
    denials: new Denials({ database: database.shareOf('audit'), cluster, clock, logger }, metrics),
    planner: plannerOf(config),
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
