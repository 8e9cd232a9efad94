/** Makes every part of the operator and connects them. */
import { versionProblem } from '@coxswain/api-types';
import { createKubeClient, sleep, systemClock, type Clock, type KubeClient } from '@coxswain/kube';
import { type EndArbiter, NOTICE_RULES } from '@coxswain/lifecycle';
import { type ClusterScheduler, queueFigures } from '@coxswain/scheduling';
import type { Logger } from '@coxswain/telemetry';
import { createClusterCache, type ClusterCache } from './cluster/cluster-cache.ts';
import { leadingClient } from './cluster/leading-client.ts';
import { claimsOn } from './cluster/claims-on.ts';
import type { Config } from './config/config.ts';
import { FabricController } from './fabric/fabric-controller.ts';
import { CheckpointControllers } from './process/checkpoint-controllers.ts';
import { createLease } from './process/create-lease.ts';
import { JobEventRecorder } from './process/job-event-recorder.ts';
import { GoodputRecorder } from './process/goodput-recorder.ts';
import { hungReasons } from './process/hung-reasons.ts';
import { JobLoop } from './process/job-loop.ts';
import { Leadership } from './process/leadership.ts';
import { observeJobs } from './process/observe-jobs.ts';
import { createOperatorMetrics, type OperatorMetrics } from './process/operator-metrics.ts';
import { OutsideQueues } from './process/outside-queues.ts';
import { openProcessPorts, type ProcessPorts } from './process/process-ports.ts';
import { Reporting } from './process/reporting.ts';
import { waitForServer } from './process/wait-for-server.ts';
import { WakeUps } from './process/wake-ups.ts';
import { QUARANTINE_MESSAGES, QuarantineController } from './quarantine/quarantine-controller.ts';
import { createClusterScheduler, createEndArbiter } from './training-job/cluster-scheduler.ts';
import { codeUrls } from './training-job/code-urls.ts';
import { FIELD_MANAGER, KubernetesTrainingJobStore } from './training-job/kubernetes-training-job-store.ts';
import { PodSweep } from './training-job/pod-sweep.ts';
import { RuntimeReads } from './training-job/runtime-reads.ts';
import { TrainingJobReconciler } from './training-job/training-job.reconciler.ts';

/** A running operator. */
export interface Operator {
  readonly healthPort: number;
  readonly reportPort: number;
  isLeader(): boolean;
  /** Stops accepting work, finishes running work and releases the lease. Resolves within 25 s. */
  stop(): Promise<void>;
  /** Resolves when the operator can do nothing more and its process should end; never while it works or after `stop`. */
  readonly ended: Promise<Ending>;
}

/** Why an operator ended by itself: its term as leader is over, and a process leads only once, or a part of it failed. */
export interface Ending {
  readonly kind: 'termOver' | 'defect';
  readonly reason: unknown;
}

/** How long the first reconciles wait for the Fabric resource. */
const FIRST_FABRIC_MS = 5_000;

/** Above it the cache is too old to call this replica ready. */
const MAX_OUTAGE_MS = 60_000;

/**
 * Starts an operator as soon as the API server responds. Rejects with a message for the administrator if the operator cannot work here, and with the
 * signal's reason if it aborts before the start.
 */
export async function startOperator(
  config: Config,
  parts: { readonly log: Logger; readonly clock?: Clock; readonly signal?: AbortSignal },
): Promise<Operator> {
  const operator = new RunningOperator(config, { log: parts.log, clock: parts.clock ?? systemClock });
  const onAbort = (): void => void operator.stop();
  parts.signal?.addEventListener('abort', onAbort, { once: true });
  try {
    parts.signal?.throwIfAborted();
    await operator.start();
    return operator;
  } catch (error) {
    await operator.stop();
    throw error;
  } finally {
    parts.signal?.removeEventListener('abort', onAbort);
  }
}

/** Connects the parts; each part is described in its own file. */
class RunningOperator implements Operator {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #client: KubeClient;
  readonly #metrics: OperatorMetrics;
  readonly #goodput: GoodputRecorder;
  readonly #cache: ClusterCache;
  readonly #scheduler: ClusterScheduler;
  readonly #arbiter: EndArbiter;
  readonly #leadership: Leadership;
  readonly #jobEvents: JobEventRecorder;
  readonly #store: KubernetesTrainingJobStore;
  readonly #podSweep: PodSweep;
  readonly #fabric: FabricController;
  readonly #quarantine: QuarantineController;
  readonly #queues: OutsideQueues;
  readonly #checkpoints: CheckpointControllers;
  readonly #reporting: Reporting;
  readonly #jobs: JobLoop;
  readonly #wakeUps: WakeUps;
  readonly #stopping = new AbortController();
  readonly #background: Promise<unknown>[] = [];
  readonly #ending = Promise.withResolvers<Ending>();
  #stopped: Promise<void> | undefined;
  #ports: ProcessPorts | undefined;

  constructor(config: Config, parts: { readonly log: Logger; readonly clock: Clock }) {
    const { log, clock } = parts;
    this.#config = config;
    this.#log = log;
    this.#clock = clock;
    this.#client = createKubeClient({
      ...(config.kubeconfigPath === undefined ? {} : { kubeconfigPath: config.kubeconfigPath }),
      userAgent: 'coxswain-operator',
      fieldManager: FIELD_MANAGER,
      maxInFlight: 16,
      lanes: { bulk: 32 },
    });
    this.#goodput = new GoodputRecorder({ clock });
    const metrics = createOperatorMetrics({
      isLeader: () => (this.isLeader() ? 1 : 0),
      launcherConnections: () => this.#reporting.connections,
      ingestUtilisation: () => this.#reporting.utilisation,
      cachedPods: () => this.#cache.pods.cached.size,
      cachedJobs: () => this.#cache.jobs.cached.size,
      watchOutageSeconds: () => this.#cache.informers.longestOutageMs() / 1000,
      quarantinedJobs: () => this.#jobs.quarantined(),
      endsHeld: () => this.#arbiter.heldByCause(),
      unrecordedJobs: () => this.#jobs.unrecorded(),
      queue: () => queueFigures(this.#cache.jobs.cached.list(), clock.now().getTime()),
      gpuTypes: () => this.#fabric.gpuTypes,
      goodput: this.#goodput,
    });
    this.#metrics = metrics;
    this.#cache = createClusterCache({
      client: this.#client,
      clock,
      random: Math.random,
      metrics,
      onProblem: (problem) => log.warn({ problem }, 'the cache rejected an object or a response'),
      noticeRules: [...NOTICE_RULES, ...config.noticeRules],
    });
    this.#cache.jobs.cached.onChange((change) => this.#goodput.observe(change));
    observeJobs(this.#cache.jobs.cached, { metrics, isLeader: () => this.isLeader() });
    this.#scheduler = createClusterScheduler(this.#cache, clock, {
      findNodes: (question) => this.#jobs.findNodes(question),
      promisesChanged: (jobUids) => this.#wakeUps.promisesChanged(jobUids),
    });
    this.#arbiter = createEndArbiter(this.#cache, clock);
    this.#leadership = new Leadership({
      lease: createLease(config, { client: this.#client, clock, log }),
      clock,
      syncCache: (signal) => this.#cache.informers.refresh(signal),
      work: (term, signal) => this.#work(term, signal),
    });
    const client = leadingClient(this.#client, this.#leadership);
    this.#jobEvents = new JobEventRecorder({ client, clock, log, metrics, identity: config.identity });
    this.#store = new KubernetesTrainingJobStore({
      client,
      cache: this.#cache,
      clock,
      placesOf: (nodes) => this.#fabric.placesToText(nodes),
    });
    this.#podSweep = new PodSweep({
      client,
      cache: this.#cache,
      clock,
      onError: (error) =>
        log.warn({ err: error }, 'the finalizer of a pod without a job could not be removed; the operator retries'),
    });
    this.#fabric = new FabricController({
      client,
      cache: this.#cache,
      clock,
      publishesLabels: config.publishesFabricLabels,
      capacity: () => this.#scheduler.capacityFor(''),
      warn: (job, note) => this.#jobEvents.recordFabricWarning(job, note),
      onNews: (key) => this.#jobs.wake(key, 'normal'),
      onError: (error) =>
        log.warn({ err: error }, 'the Fabric resource or labels of nodes could not be written; the operator retries'),
    });
    this.#quarantine = new QuarantineController({
      client,
      cache: this.#cache,
      clock,
      mode: config.quarantine,
      onChange: ({ node, change }) => log.warn({ node }, QUARANTINE_MESSAGES[change]),
      onError: (error) =>
        log.warn({ err: error }, 'the quarantine of a node could not be written; the operator retries'),
    });
    const jobEvents = this.#jobEvents;
    this.#checkpoints = new CheckpointControllers({ config, client, cache: this.#cache, clock, log, jobEvents });
    this.#reporting = new Reporting({
      config,
      client: this.#client,
      cache: this.#cache,
      clock,
      log,
      metrics,
      store: this.#store,
      keptLogs: this.#checkpoints.keptLogs,
      term: () => this.#leadership.workingTerm(),
      currentLeader: () => this.#leadership.currentLeader(),
      termLeftMs: () => this.#leadership.leftMs(),
      onNews: (jobUid, news) => this.#wakeUps.reported(jobUid, news),
      onVerdict: (job, verdict) => this.#jobEvents.recordHealthWarning(job, verdict.message),
    });
    const wake = (key: string): void => this.#jobs.wake(key, 'normal');
    const queued = { cache: this.#cache, scheduler: this.#scheduler, wake };
    this.#queues = new OutsideQueues({ config, client, clock, log, ...queued });
    this.#jobs = this.#newJobLoop();
    this.#wakeUps = new WakeUps({
      cache: this.#cache,
      clock,
      podNewsIntervalMs: config.podNewsIntervalMs,
      scheduler: this.#scheduler,
      resyncIntervalMs: config.resyncIntervalMs,
      wake: (key, priority) => this.#jobs.wake(key, priority),
      onJobDeleted: (jobUid) => this.#forget(jobUid),
    });
  }

  get healthPort(): number {
    return this.#ports?.healthPort ?? 0;
  }

  get reportPort(): number {
    return this.#reporting.port;
  }

  get ended(): Promise<Ending> {
    return this.#ending.promise;
  }

  isLeader(): boolean {
    return this.#leadership.isLeader();
  }

  async start(): Promise<void> {
    const { signal } = this.#stopping;
    // First, so that probes are answered while the API server is unavailable.
    this.#ports = await openProcessPorts(this.#config, {
      hungReasons: () => this.#hungReasons(),
      unreadyReasons: () => this.#unreadyReasons(),
      expose: () => this.#metrics.expose(),
      clock: this.#clock,
      log: this.#log,
    });
    await waitForServer(() => this.#askServer(), { clock: this.#clock, log: this.#log, signal });
    this.#inBackground('informers', this.#cache.informers.run(signal));
    await this.#reporting.start();
    this.#inBackground('certificate', this.#reporting.keepCertificate(signal));
    this.#inBackground('leadership', this.#lead(signal));
    this.#log.info(
      {
        identity: this.#config.identity,
        healthPort: this.healthPort,
        metricsPort: this.#ports.metricsPort,
        reportPort: this.reportPort,
      },
      'operator started',
    );
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#log.info('operator is stopping');
    this.#stopping.abort();
    await this.#reporting.stop();
    await Promise.allSettled(this.#background);
    await this.#ports?.stop();
    await this.#client.close();
    this.#wakeUps.stop();
    this.#goodput.stop();
    this.#log.info('operator stopped');
  }

  /** Checks that the API server is supported, and issues the report certificate. */
  async #askServer(): Promise<void> {
    const problem = versionProblem(await this.#client.version());
    if (problem !== undefined) throw new Error(problem);
    await this.#reporting.refreshCertificate();
  }

  /** Must not depend on the API server: a response shows that the event loop runs. */
  #hungReasons(): readonly string[] {
    return hungReasons({ stalledMs: this.#jobs.stalledMs(), silentMs: this.#reporting.silentMs });
  }

  #unreadyReasons(): readonly string[] {
    const { informers } = this.#cache;
    const unsynced = informers.unsynced();
    const outageMs = informers.longestOutageMs();
    return [
      ...(unsynced.length === 0 ? [] : [`waiting for the first list of ${unsynced.join(', ')}`]),
      ...(outageMs <= MAX_OUTAGE_MS ? [] : [`a watch has been down for ${Math.round(outageMs / 1000)} s`]),
      ...(this.#reporting.isUp ? [] : ['the report endpoint is not up']),
      ...(this.#stopping.signal.aborted ? ['stopping'] : []),
    ];
  }

  #forget(jobUid: string): void {
    this.#reporting.forget(jobUid);
    this.#scheduler.forget(jobUid);
    this.#arbiter.forget(jobUid);
    this.#jobs.forget(jobUid);
  }

  async #lead(signal: AbortSignal): Promise<void> {
    // A leader needs a synced cache.
    if (!(await this.#cache.informers.waitForSync(signal))) return;
    try {
      const why = await this.#leadership.run(signal);
      if (why === 'lost') this.#end('termOver', 'the lease was lost: another replica may lead');
    } catch (error) {
      this.#end('termOver', error);
    }
  }

  async #work(term: number, signal: AbortSignal): Promise<void> {
    this.#log.info({ leaderTerm: term }, 'operator leads');
    this.#metrics.count('lease_transitions_total');
    // The Fabric resource and drains are applied before the first gang is placed, unless the API server is slow.
    const first = Promise.all([this.#fabric.reconcile(), this.#queues.prepare()]);
    await Promise.race([first, sleep(this.#clock, FIRST_FABRIC_MS, signal)]);
    const beside = [
      this.#podSweep.run(signal),
      this.#fabric.run(signal),
      this.#quarantine.run(signal),
      this.#queues.run(signal),
      this.#checkpoints.run(signal),
    ];
    await this.#jobs.run(signal);
    await Promise.all(beside);
    // Before the lease is released; later writes are not allowed.
    await this.#jobEvents.flush();
  }

  #newJobLoop(): JobLoop {
    const reporting = this.#reporting;
    const runtimes = new RuntimeReads({
      client: this.#client,
      clock: this.#clock,
      onNews: (key) => this.#jobs.wake(key, 'normal'),
      onFailure: (runtime, error) => this.#log.warn({ runtime, err: error }, 'a runtime could not be read'),
    });
    return new JobLoop({
      cache: this.#cache,
      clock: this.#clock,
      log: this.#log,
      metrics: this.#metrics,
      workers: this.#config.workers,
      scheduler: this.#scheduler,
      reconciler: (beside) =>
        new TrainingJobReconciler({
          store: this.#store,
          scheduler: this.#scheduler,
          ...beside,
          runtimes,
          clock: this.#clock,
          priorityClasses: this.#cache.priorityClassFacts,
          leaderTerm: () => this.#leadership.workingTerm(),
          pods: () => ({ ...this.#config.pods, ...reporting.forPods }),
          ...(this.#config.codeBucket && { codeUrlOf: codeUrls(this.#config.codeBucket, this.#clock) }),
          ...reporting.views,
          arbiter: this.#arbiter,
          makesRoom: this.#config.makesRoom,
          claimsOn: (uid) => claimsOn(this.#cache, uid),
          ...this.#queues.views,
          fabricChangeOf: (job) => this.#fabric.changeOf(job.metadata.uid ?? ''),
          timeouts: this.#config.timeouts,
          retention: this.#config.retention,
          measuredGpus: this.#config.measuredGpus,
          effects: {
            recordEvents: (job, events) => this.#jobEvents.announce(job, events),
            refuseLaunchers: (job, epoch) => reporting.refuseLaunchers(job, epoch),
            warn: (job, note) => this.#jobEvents.warn(job, note),
            warnOfUnrecordedPlacements: (job, note) => this.#jobEvents.recordUnrecordedPlacements(job, note),
          },
          warnOfRuntime: (job, note) => this.#jobEvents.warnOfRuntime(job, note),
        }),
    });
  }

  #end(kind: Ending['kind'], reason: unknown): void {
    if (!this.#stopping.signal.aborted) this.#ending.resolve({ kind, reason });
  }

  /** None of these may ever end before `stop`; one that does is a defect, and a restart is better than a half-dead replica. */
  #inBackground(what: string, work: Promise<unknown>): void {
    const ended = (error: unknown): void => this.#end('defect', new Error(`${what} ended`, { cause: error }));
    this.#background.push(work.then(() => ended(undefined), ended));
  }
}
