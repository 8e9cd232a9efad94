import { randomUUID } from 'node:crypto';
import { ANNOTATIONS, type TrainingJob, versionProblem } from '@coxswain/api-types';
import {
  createKubeClient,
  EventRecorder,
  keyOf,
  LeaderLease,
  sleep,
  systemClock,
  WorkQueue,
  type Clock,
  type KubeClient,
} from '@coxswain/kube';
import { type Decision, PROGRESS_INTERVAL_MS } from '@coxswain/lifecycle';
import { PlannerThread } from '@coxswain/planner-thread';
import type { Logger } from '@coxswain/telemetry';
import { createClusterCache, type ClusterCache } from './cluster/cluster-cache.ts';
import { leadingClient } from './cluster/leading-client.ts';
import type { Config } from './config/config.ts';
import { startHealthServer, type HealthServer } from './process/health-server.ts';
import { Leadership } from './process/leadership.ts';
import { createOperatorMetrics, type OperatorMetrics } from './process/operator-metrics.ts';
import { TokenReviewAuthenticator } from './reports/authenticator.ts';
import { KubernetesReportPorts } from './reports/kubernetes-report-ports.ts';
import { MessageDeduplicator } from './reports/message-deduplicator.ts';
import { ProgressTimers } from './reports/progress-timers.ts';
import { ProgressTracker } from './reports/progress-tracker.ts';
import { Rendezvous } from './reports/rendezvous.ts';
import { startReportServer, type ReportServer } from './reports/report-server.ts';
import { ReportTls } from './reports/report-tls.ts';
import { SecretAuthorityStore } from './reports/secret-authority-store.ts';
import { SeriesRing } from './reports/series-ring.ts';
import { Capacity } from './training-job/capacity.ts';
import { JobPlanner } from './training-job/job-planner.ts';
import { FIELD_MANAGER, KubernetesTrainingJobStore } from './training-job/kubernetes-training-job-store.ts';
import { TrainingJobReconciler } from './training-job/training-job.reconciler.ts';
import { Watches } from './training-job/watches.ts';

/** A running operator. */
export interface Operator {
  readonly healthPort: number;
  readonly reportPort: number;
  isLeader(): boolean;
  /** Stops accepting, finishes what is under way, gives the lease back. Resolves within 25 s. */
  stop(): Promise<void>;
  /** Resolves with the reason when the operator ended by itself; never while it runs or after `stop`. */
  readonly failed: Promise<unknown>;
}

const DRAIN_MS = 15_000;
const CERTIFICATE_CHECK_MS = 3_600_000;
/** Above it the cache is too old to call this replica ready. */
const MAX_OUTAGE_MS = 60_000;

/** Starts an operator; rejects with a sentence for the administrator when it cannot work here at all. */
export async function startOperator(
  config: Config,
  parts: { readonly log: Logger; readonly clock?: Clock },
): Promise<Operator> {
  const operator = new RunningOperator(config, { log: parts.log, clock: parts.clock ?? systemClock });
  try {
    await operator.start();
    return operator;
  } catch (error) {
    await operator.stop();
    throw error;
  }
}

class RunningOperator implements Operator {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #client: KubeClient;
  readonly #metrics: OperatorMetrics;
  readonly #cache: ClusterCache;
  readonly #capacity: Capacity;
  readonly #progress = new ProgressTracker();
  readonly #rendezvous = new Rendezvous();
  readonly #events: EventRecorder;
  readonly #tls: ReportTls;
  readonly #store: KubernetesTrainingJobStore;
  readonly #stopping = new AbortController();
  readonly #background: Promise<unknown>[] = [];
  readonly #failure = Promise.withResolvers<unknown>();
  readonly #progressTimers: ProgressTimers;
  readonly #watches: Watches;
  readonly #leadership: Leadership;
  #queue: WorkQueue | undefined;
  #planner: JobPlanner | undefined;
  #stopped: Promise<void> | undefined;
  #health: HealthServer | undefined;
  #reports: ReportServer | undefined;

  constructor(config: Config, parts: { readonly log: Logger; readonly clock: Clock }) {
    this.#config = config;
    this.#log = parts.log;
    this.#clock = parts.clock;
    const clock = this.#clock;
    this.#client = createKubeClient({
      ...(config.kubeconfigPath === undefined ? {} : { kubeconfigPath: config.kubeconfigPath }),
      userAgent: 'coxswain-operator',
      fieldManager: FIELD_MANAGER,
      maxInFlight: 32,
    });
    this.#metrics = createOperatorMetrics({
      isLeader: () => (this.isLeader() ? 1 : 0),
      launcherConnections: () => this.#reports?.connections ?? 0,
      cachedPods: () => this.#cache.pods.cached.size,
      cachedJobs: () => this.#cache.jobs.cached.size,
    });
    this.#cache = createClusterCache({
      client: this.#client,
      clock,
      random: Math.random,
      metrics: this.#metrics,
      onProblem: (problem) => this.#log.warn({ problem }, 'the cache met something it could not use'),
    });
    this.#capacity = new Capacity(this.#cache);
    this.#watches = new Watches({
      cache: this.#cache,
      clock,
      // Between terms nobody looks; a term begins with a look at every job.
      wake: (key, priority) => this.#queue?.add(key, priority),
      onJobDeleted: (jobUid) => this.#forget(jobUid),
    });
    this.#progressTimers = new ProgressTimers({
      clock,
      intervalMs: PROGRESS_INTERVAL_MS,
      onDue: (jobUid) => this.#watches.wake(jobUid),
    });
    this.#leadership = new Leadership({
      newLease: () => this.#newLease(),
      clock,
      log: this.#log,
      work: (term, signal) => this.#work(term, signal),
    });
    const client = leadingClient(this.#client, () => this.#leadership.assertLeading());
    this.#store = new KubernetesTrainingJobStore({ client, cache: this.#cache, capacity: this.#capacity });
    this.#events = new EventRecorder({
      client,
      clock,
      reportingController: 'coxswain.dev/operator',
      reportingInstance: config.identity,
      metrics: this.#metrics,
      onError: (error) => this.#log.warn({ err: error }, 'a Kubernetes Event was not written'),
    });
    this.#tls = new ReportTls({
      store: new SecretAuthorityStore(this.#client, config.namespace),
      hosts: [...new Set([...config.reports.urls, config.reports.ownUrl].map(hostOf))],
      now: () => clock.now(),
    });
  }

  get healthPort(): number {
    return this.#health?.port ?? 0;
  }

  get reportPort(): number {
    return this.#reports?.port ?? 0;
  }

  get failed(): Promise<unknown> {
    return this.#failure.promise;
  }

  isLeader(): boolean {
    return this.#leadership.isLeader();
  }

  async start(): Promise<void> {
    const problem = versionProblem(await this.#client.version());
    if (problem !== undefined) throw new Error(problem);
    this.#health = await startHealthServer(
      { unreadyReasons: () => this.#unreadyReasons(), exposeMetrics: () => this.#metrics.metrics.expose() },
      this.#config.health,
    );
    await this.#tls.refresh();
    this.#inBackground('informers', this.#cache.informers.run(this.#stopping.signal));
    this.#reports = await this.#startReports();
    this.#inBackground('certificate', this.#keepCertificate());
    this.#inBackground('leadership', this.#lead());
    this.#log.info(
      { identity: this.#config.identity, healthPort: this.healthPort, reportPort: this.reportPort },
      'operator started',
    );
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#log.info('operator stops');
    this.#stopping.abort();
    await this.#reports?.stop();
    await Promise.allSettled(this.#background);
    await this.#events.flush();
    await this.#health?.stop();
    await this.#client.close();
    this.#watches.stop();
    this.#progressTimers.stop();
    this.#log.info('operator stopped');
  }

  #unreadyReasons(): readonly string[] {
    const { informers } = this.#cache;
    const unsynced = informers.unsynced();
    const outageMs = informers.longestOutageMs();
    return [
      ...(unsynced.length === 0 ? [] : [`waiting for the first list of ${unsynced.join(', ')}`]),
      ...(outageMs <= MAX_OUTAGE_MS ? [] : [`a watch has been down for ${Math.round(outageMs / 1000)} s`]),
      ...(this.#reports === undefined ? ['the report endpoint is not up'] : []),
      ...(this.#stopping.signal.aborted ? ['stopping'] : []),
    ];
  }

  #forget(jobUid: string): void {
    this.#progress.forget(jobUid);
    this.#progressTimers.forget(jobUid);
    this.#capacity.release(jobUid);
    this.#planner?.forget(jobUid);
  }

  async #startReports(): Promise<ReportServer> {
    const { reports } = this.#config;
    const clock = this.#clock;
    const authenticator = new TokenReviewAuthenticator({ client: this.#client, clock });
    const series = new SeriesRing({ bootId: randomUUID() });
    const ports = new KubernetesReportPorts({
      client: this.#client,
      cache: this.#cache,
      store: this.#store,
      term: () => (this.#queue !== undefined && this.isLeader() ? this.#leadership.assertLeading() : undefined),
      currentLeader: () => this.#leadership.currentLeader(),
      onNews: ({ jobUid }, news) =>
        news === 'progress' ? this.#progressTimers.progressed(jobUid) : this.#watches.wake(jobUid),
    });
    return startReportServer({
      listenHost: reports.listenHost,
      listenPort: reports.listenPort,
      serving: this.#tls.material.serving,
      clock,
      silenceMs: reports.heartbeatTimeoutMs,
      series: {
        ring: series,
        authenticator,
        readers: reports.seriesReaders,
        leadership: () => ports.leadership(),
        clock,
      },
      sessions: {
        ports,
        authenticator,
        series,
        progress: this.#progress,
        rendezvous: this.#rendezvous,
        deduplicator: new MessageDeduplicator(),
        now: () => clock.now(),
        sleep: (delayMs) => sleep(clock, delayMs, this.#stopping.signal),
        count: (what) => this.#metrics.countSession(what),
      },
    });
  }

  async #keepCertificate(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await sleep(this.#clock, CERTIFICATE_CHECK_MS, signal);
      if (signal.aborted) return;
      try {
        if (await this.#tls.refresh()) this.#reports?.useCertificate(this.#tls.material.serving);
      } catch (error) {
        this.#log.warn({ err: error }, 'the report certificate could not be checked; it is tried again in an hour');
      }
    }
  }

  async #lead(): Promise<void> {
    const { signal } = this.#stopping;
    // Whoever leads must see the cluster first.
    if (await this.#cache.informers.waitForSync(signal)) await this.#leadership.run(signal);
  }

  async #work(term: number, signal: AbortSignal): Promise<void> {
    this.#log.info({ leaderTerm: term }, 'leads');
    this.#metrics.count('lease_transitions_total');
    const queue = new WorkQueue({
      clock: this.#clock,
      random: Math.random,
      name: 'trainingjobs',
      metrics: this.#metrics,
      onError: ({ key, error, failures, quarantined }) =>
        this.#log.warn({ job: key, err: error, failures, quarantined }, 'a job could not be reconciled'),
    });
    const thread = new PlannerThread();
    const planner = new JobPlanner({
      planner: thread,
      clock: this.#clock,
      onNews: (key) => queue.add(key),
      onFailure: (key, error) => this.#log.warn({ job: key, err: error }, 'the planner did not answer for a job'),
    });
    const reconciler = new TrainingJobReconciler({
      store: this.#store,
      planner,
      clock: this.#clock,
      pods: () => ({
        ...this.#config.pods,
        reportUrls: this.#config.reports.urls,
        reportCaPem: this.#tls.material.caBundlePem,
      }),
      progressOf: (job) => this.#progress.progressOf(job.metadata.uid, job.spec.training?.steps),
      effects: {
        announce: (job, events) => this.#announce(job, events),
        refuseLaunchers: (job, epoch) =>
          this.#rendezvous.refuse({ jobUid: job.metadata.uid, epoch }, `epoch ${epoch} has failed`),
        warn: (job, note) =>
          this.#events.record({ regarding: job, type: 'Warning', reason: 'CannotProceed', action: 'Reconcile', note }),
      },
    });
    this.#queue = queue;
    this.#planner = planner;
    for (const job of this.#cache.jobs.cached.list()) queue.add(keyOf(job), 'resync');
    try {
      await queue.run({
        workers: this.#config.workers,
        reconcile: (key) => reconciler.reconcile(key),
        signal,
        drainMs: DRAIN_MS,
      });
    } finally {
      this.#queue = undefined;
      this.#planner = undefined;
      planner.close();
      await thread.close();
      this.#reports?.dismissLaunchers();
    }
  }

  #announce(job: TrainingJob, events: Decision['events']): void {
    for (const { type, severity, message, epoch } of events) {
      const { name, namespace } = job.metadata;
      // The first line is ours; what follows is what a tenant's program printed, which is nobody else's business.
      this.#log.info({ job: `${namespace}/${name}`, epoch, event: type }, message.split('\n', 1)[0]);
      this.#events.record({
        regarding: job,
        type: severity === 'info' ? 'Normal' : 'Warning',
        reason: type,
        action: 'Reconcile',
        note: message,
      });
    }
  }

  #newLease(): LeaderLease {
    const { lease, namespace, identity, reports } = this.#config;
    return new LeaderLease({
      client: this.#client,
      namespace,
      name: lease.name,
      identity,
      annotations: { [ANNOTATIONS.reportUrl]: reports.ownUrl },
      leaseDurationMs: lease.durationMs,
      renewDeadlineMs: lease.renewDeadlineMs,
      retryPeriodMs: lease.retryPeriodMs,
      clock: this.#clock,
      random: Math.random,
      onError: (error) => this.#log.warn({ err: error }, 'the lease could not be read or written'),
    });
  }

  /** None of these may ever end before `stop`; one that does is a defect, and a restart is better than a half-dead replica. */
  #inBackground(what: string, work: Promise<unknown>): void {
    const ended = (error: unknown): void => {
      if (!this.#stopping.signal.aborted) this.#failure.resolve(new Error(`${what} ended`, { cause: error }));
    };
    this.#background.push(work.then(() => ended(undefined), ended));
  }
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
