import { type EngineName, stepsOf, type TrainingJob } from '@coxswain/api-types';
import { sleep, type Clock, type KubeClient } from '@coxswain/kube';
import {
  countEnds,
  type Finding,
  type Hearing,
  type ObservedLauncher,
  type ObservedPreflight,
  type ObservedProgress,
  type ObservedTrained,
  type Verdict,
} from '@coxswain/lifecycle';
import type { Logger } from '@coxswain/telemetry';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import type { Config } from '../config/config.ts';
import { HealthController } from '../launchers/health-controller.ts';
import type { HealthReport } from '../ingest/health-reports.ts';
import { IngestThread } from '../ingest/ingest-thread.ts';
import {
  sharedMonotonicMs,
  type IngestAnswer,
  type IngestDigest,
  type IngestQuestion,
  type IngestStart,
  type LeadershipView,
  type NewestEpoch,
} from '../ingest/ingest-messages.ts';
import type { KeptLogsReaders } from '../kept-logs/kept-logs-readers.ts';
import { KubernetesReportPorts, type KubernetesReportPortsOptions } from '../launchers/kubernetes-report-ports.ts';
import { LauncherContacts, runningGangOf } from '../launchers/launcher-contacts.ts';
import { LauncherController } from '../launchers/launcher-controller.ts';
import { NewestEpochs } from '../launchers/newest-epochs.ts';
import { PreflightController } from '../launchers/preflight-controller.ts';
import { TrainedFactsController } from '../launchers/trained-facts-controller.ts';
import { ProgressBoard } from '../launchers/progress-board.ts';
import type { SessionCount } from '../ingest/session-ports.ts';
import { ReportTls } from '../ingest/report-tls.ts';
import { SecretAuthorityStore } from '../ingest/secret-authority-store.ts';
import type { ReconcilerOptions } from '../training-job/training-job.reconciler.ts';
import { publishObserveParameters } from './publish-observe-parameters.ts';
import { FinishedJobs } from './finished-jobs.ts';
import type { OperatorMetrics } from './operator-metrics.ts';

/** Parts of the reporting side. */
export interface ReportingParts extends Pick<KubernetesReportPortsOptions, 'store' | 'term' | 'currentLeader'> {
  readonly config: Pick<Config, 'reports' | 'retention' | 'namespace' | 'kubeconfigPath' | 'observedNamespaces'>;
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: OperatorMetrics;
  readonly keptLogs: Pick<KeptLogsReaders, 'open'>;
  /** Milliseconds left in the current term unless it is renewed. */
  readonly termLeftMs: () => number;
  /** Called when launchers reported something that requires a reconcile of the job. */
  readonly onNews: (jobUid: string, news: 'progress' | 'ended') => void;
  /** Called once for each verdict about the job's gang that is a warning for users. */
  readonly onVerdict: (job: TrainingJob, verdict: HealthReport['verdict']) => void;
}

type ReportViews = Pick<
  ReconcilerOptions,
  | 'progressOf'
  | 'reportAgesMsOf'
  | 'launchersOf'
  | 'preflightOf'
  | 'trainedOf'
  | 'verdictsOf'
  | 'readEvidence'
  | 'hearing'
  | 'findingsOf'
  | 'standingOf'
>;

/** Engines whose functions for saving and evaluating the hook recognizes (engines/agent/hook/coxswain_hook/phase.py). Others run users' scripts. */
const KNOWN_PHASES: readonly EngineName[] = [
  'reference',
  'megatron-lm',
  'megatron-bridge',
  'torchtitan',
  'hugging-face',
];

const DAY_MS = 86_400_000;
const HEARING_VALID_MS = 1_000;
const CERTIFICATE_CHECK_MS = 3_600_000;

/** The endpoint for launchers and what their reports say about jobs. Reports are received in the ingest thread. */
export class Reporting {
  readonly #parts: ReportingParts;
  readonly #tls: ReportTls;
  readonly #ports: KubernetesReportPorts;
  readonly #progress = new ProgressBoard();
  readonly #contacts = new LauncherContacts();
  readonly #epochs: NewestEpochs;
  readonly #thread: IngestThread;
  readonly #launchers: LauncherController;
  readonly #preflights: PreflightController;
  readonly #trained: TrainedFactsController;
  readonly #health: HealthController;
  #heard: { readonly atMs: number; readonly hearing: Hearing } | undefined;
  readonly #finished: FinishedJobs;
  #lastDigest: Pick<IngestDigest, 'connections' | 'utilisation'> = NOTHING;

  constructor(parts: ReportingParts) {
    this.#parts = parts;
    const { config, client, cache, clock, store, term, currentLeader } = parts;
    this.#tls = new ReportTls({
      store: new SecretAuthorityStore(client, config.namespace),
      hosts: [...new Set([...config.reports.urls, config.reports.ownUrl].map(hostOf))],
      now: () => clock.now(),
    });
    const checkpointsKept = config.retention.checkpoints;
    const ports = new KubernetesReportPorts({ client, cache, store, term, currentLeader, checkpointsKept, clock });
    this.#ports = ports;
    this.#epochs = new NewestEpochs((jobUid) => ports.newestEpoch(jobUid));
    this.#finished = new FinishedJobs({ clock, onFinished: (jobUid) => this.forget(jobUid) });
    cache.jobs.cached.onChange((change) => this.#finished.observe(change));
    this.#thread = new IngestThread({
      start: () => this.#startOfThread(),
      answer: (question) => this.#answer(question),
      take: (digest) => this.#take(digest),
      view: () => this.#view(),
      onDeath: (reason, againInMs) => this.#onDeath(reason, againInMs),
      clock,
    });
    this.#launchers = new LauncherController({
      gangOf: (jobUid) => ports.newestGang(jobUid),
      send: (message) => this.#thread.send({ kind: 'order', ...message }),
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs(),
    });
    this.#preflights = new PreflightController({
      gangOf: (jobUid) => ports.newestGang(jobUid),
      send: (message) => this.#thread.send({ kind: 'order', ...message }),
    });
    this.#trained = new TrainedFactsController({ gangOf: (jobUid) => ports.newestGang(jobUid) });
    this.#health = new HealthController({
      now: () => clock.now(),
      warn: ({ jobUid, verdict }) => {
        const gang = ports.newestGang(jobUid);
        // Ranks that have ended do not report either, which is no problem.
        if (gang === undefined || gang === 'gone' || gang.attempt.endedAt !== undefined) return;
        parts.onVerdict(gang.job, verdict);
      },
      knowsPhases: (jobUid) => {
        const gang = ports.newestGang(jobUid);
        return gang !== undefined && gang !== 'gone' && KNOWN_PHASES.includes(gang.job.spec.engine.name);
      },
      nodesOf: (jobUid) => ports.roster(jobUid)?.nodes.length ?? 0,
      slowEndsToday: (jobUid) => {
        const gang = ports.newestGang(jobUid);
        if (gang === undefined || gang === 'gone') return Infinity;
        return countEnds(gang.job.status ?? {}, { cause: 'slow', sinceMs: clock.now().getTime() - DAY_MS });
      },
    });
  }

  /** 0 before the start. */
  get port(): number {
    return this.#thread.port;
  }

  /** Connected launchers as of the last digest. */
  get connections(): number {
    return this.#lastDigest.connections;
  }

  /** Share of time in which the ingest thread was busy, in [0, 1]. */
  get utilisation(): number {
    return this.#lastDigest.utilisation;
  }

  get isUp(): boolean {
    return this.#thread.isListening;
  }

  /** Time since the last digest of the ingest thread; 0 before the start. */
  get silentMs(): number {
    return this.#thread.silentMs;
  }

  /** URLs and certificate authority of this endpoint, for pods. */
  get forPods(): { readonly reportUrls: readonly string[]; readonly reportCaPem: string } {
    return { reportUrls: this.#parts.config.reports.urls, reportCaPem: this.#tls.material.caBundlePem };
  }

  /** What reconciles read of reports. */
  get views(): ReportViews {
    return {
      progressOf: (job) => this.progressOf(job),
      reportAgesMsOf: (job) => this.reportAgesMsOf(job),
      launchersOf: (job) => this.launchersOf(job),
      preflightOf: (job) => this.preflightOf(job),
      trainedOf: (job) => this.trainedOf(job),
      verdictsOf: (job) => this.verdictsOf(job),
      readEvidence: (job) => this.readEvidence(job),
      hearing: () => this.hearing(),
      findingsOf: (job) => this.findingsOf(job),
      standingOf: (job) => this.#health.standingOf(job),
    };
  }

  progressOf(job: TrainingJob): ObservedProgress | undefined {
    return this.#progress.progressOf(job.metadata.uid, this.#parts.clock.monotonicMs(), stepsOf(job.spec));
  }

  /** Milliseconds since the last contact with the launcher of each pod of the job, by pod UID. */
  reportAgesMsOf(job: TrainingJob): ReadonlyMap<string, number> {
    return this.#contacts.ofJob(job.metadata.uid, this.#parts.clock.monotonicMs());
  }

  /** Last reports of the launchers of the job's newest epoch, by pod UID. */
  launchersOf(job: TrainingJob): ReadonlyMap<string, ObservedLauncher> {
    return this.#launchers.ofJob(job.metadata.uid);
  }

  /** Preflight result of the job's newest gang; undefined until it is known. */
  preflightOf(job: TrainingJob): ObservedPreflight | undefined {
    return this.#preflights.ofJob(job.metadata.uid);
  }

  /** Differences between what the ranks of the job's newest gang train and its layout; undefined before a report. */
  trainedOf(job: TrainingJob): ObservedTrained | undefined {
    return this.#trained.ofJob(job.metadata.uid);
  }

  /** Ranks of the job's newest gang that verdicts blame. */
  verdictsOf(job: TrainingJob): readonly Verdict[] {
    return this.#health.ofJob(job);
  }

  /** Asks the ingest thread where the job's ranks are now, and drops the verdicts that this refutes. */
  async readEvidence(job: TrainingJob): Promise<void> {
    const { uid } = job.metadata;
    this.#health.receiveEvidence(uid, await this.#thread.readEvidence(uid, this.#health.ranksInQuestion(uid)));
  }

  /** Launchers of running gangs that this process hears, and those that fell silent; at most a second old. */
  hearing(): Hearing {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#heard === undefined || nowMs - this.#heard.atMs >= HEARING_VALID_MS) {
      const runningGang: Parameters<LauncherContacts['hearing']>[1] = (jobUid, epoch) => {
        const gang = this.#ports.newestGang(jobUid);
        if (gang === undefined || gang === 'gone' || gang.attempt.epoch !== epoch) return undefined;
        return runningGangOf(gang);
      };
      this.#heard = { atMs: nowMs, hearing: this.#contacts.hearing(nowMs, runningGang) };
    }
    return this.#heard.hearing;
  }

  /** All findings of detectors about the job's newest gang. */
  findingsOf(job: TrainingJob): readonly Finding[] {
    return this.#health.findingsOf(job);
  }

  /** Disconnects all launchers of an attempt that has failed. */
  refuseLaunchers(job: TrainingJob, epoch: number): void {
    const why = `attempt ${epoch} has failed`;
    this.#thread.send({ kind: 'refuse', jobUid: job.metadata.uid, epoch, why });
  }

  /** Drops the state of a job that is finished or deleted. */
  forget(jobUid: string): void {
    this.#epochs.forget(jobUid);
    this.#progress.forget(jobUid);
    this.#contacts.forget(jobUid);
    this.#launchers.forget(jobUid);
    this.#preflights.forget(jobUid);
    this.#trained.forget(jobUid);
    this.#health.forget(jobUid);
    this.#ports.forget(jobUid);
    this.#thread.send({ kind: 'forget', jobUid });
  }

  /** Issues or renews this replica's certificate. Reads the authority from the API server. */
  async refreshCertificate(): Promise<void> {
    if (await this.#tls.refresh()) this.#thread.send({ kind: 'certificate', serving: this.#tls.material.serving });
    await publishObserveParameters(this.#parts, this.forPods);
  }

  /** Starts the thread, which opens the port. Rejects if the port is in use. */
  async start(): Promise<void> {
    await this.#thread.start();
  }

  /** Checks the certificate every hour until `signal` aborts. */
  async keepCertificate(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    for (;;) {
      await sleep(clock, CERTIFICATE_CHECK_MS, signal);
      if (signal.aborted) return;
      try {
        await this.refreshCertificate();
      } catch (error) {
        log.warn({ err: error }, 'the report certificate could not be renewed; the operator retries in an hour');
      }
    }
  }

  /** Disconnects every launcher, closes the port and ends the thread. */
  async stop(): Promise<void> {
    this.#finished.stop();
    await this.#thread.stop();
  }

  #startOfThread(): IngestStart {
    const { reports, kubeconfigPath, observedNamespaces } = this.#parts.config;
    const { listenHost, listenPort, ownUrl, heartbeatTimeoutMs, seriesReaders, healthWindowMs } = reports;
    const { idleMs, healthTraceDirectory } = reports;
    return {
      listenHost,
      listenPort,
      ownUrl,
      serving: this.#tls.material.serving,
      silenceMs: heartbeatTimeoutMs,
      seriesReaders,
      observedNamespaces,
      healthWindowMs,
      idleMs,
      ...(healthTraceDirectory === undefined ? {} : { healthTraceDirectory }),
      ...(kubeconfigPath === undefined ? {} : { kubeconfigPath }),
    };
  }

  /** The view for the thread, read several times per second. Also sends messages to launchers that follow from changes. */
  #view(): { readonly leadership: LeadershipView; readonly jobs: readonly NewestEpoch[] } {
    const leadership = this.#leadership();
    const jobs = this.#epochs.changes();
    if (leadership.leading) {
      for (const { jobUid } of jobs) this.#launchers.reconcile(jobUid);
      this.#launchers.reconcileUnsettled();
    }
    return { leadership, jobs };
  }

  #leadership(): LeadershipView {
    const view = this.#ports.leadership();
    if (view.leading) return { ...view, leftMs: this.#parts.termLeftMs() };
    // Elected, but the cache is not synced yet: launchers must not be redirected to this replica.
    return view.leaderUrl === this.#parts.config.reports.ownUrl ? { leading: false } : view;
  }

  async #answer(question: IngestQuestion): Promise<IngestAnswer> {
    if (question.kind === 'recordCheckpoint') {
      return this.#ports.recordCheckpoint(question.pod, question.saved).catch(() => 'failed' as const);
    }
    if (question.kind === 'openKeptLogs') {
      return this.#parts.keptLogs.open(question.request).catch((error: unknown) => {
        this.#parts.log.warn({ err: error }, 'the pod that reads kept logs could not be started');
        return undefined;
      });
    }
    if (question.kind === 'isKnownPod') return this.#ports.isKnownPod(question.pod);
    if (question.kind === 'rosterOf') return this.#ports.roster(question.jobUid);
    const pod = await this.#ports.findPod(question.pod);
    return typeof pod === 'string' ? { pod } : { pod, newest: this.#epochs.follow(pod.jobUid) };
  }

  #take(digest: IngestDigest): void {
    const { clock, metrics, onNews } = this.#parts;
    this.#lastDigest = digest;
    // The time at which the digest was sent, because it may have waited while the loop was blocked.
    const contactAtMs = clock.monotonicMs() - Math.max(0, sharedMonotonicMs() - digest.sentAtMs);
    for (const { jobUid, epoch, podUids } of digest.contacts) {
      for (const podUid of podUids) this.#contacts.record({ jobUid, epoch, podUid }, contactAtMs);
    }
    for (const steps of digest.progress) if (this.#progress.take(steps, contactAtMs)) onNews(steps.jobUid, 'progress');
    for (const jobUid of this.#launchers.receive(digest.launchers)) onNews(jobUid, 'ended');
    for (const jobUid of this.#preflights.receive(digest.preflights)) onNews(jobUid, 'ended');
    for (const jobUid of this.#trained.receive(digest.trained)) onNews(jobUid, 'progress');
    for (const jobUid of this.#health.receive(digest.health)) onNews(jobUid, 'ended');
    for (const jobUid of this.#health.receiveStandings(digest.standings)) onNews(jobUid, 'ended');
    for (const jobUid of digest.ended) onNews(jobUid, 'ended');
    for (const [what, count] of Object.entries(digest.counts)) metrics.countSession(what as SessionCount, count);
    for (const [bound, count] of Object.entries(digest.losses)) metrics.countTelemetryLoss(bound, count);
  }

  #onDeath(reason: Error, againInMs: number): void {
    this.#epochs.reset();
    this.#lastDigest = NOTHING;
    this.#parts.metrics.countIngestRestart();
    this.#parts.log.error(
      { err: reason, againInMs },
      'the ingest thread ended; launchers cannot report until it restarts',
    );
  }
}

const NOTHING = { connections: 0, utilisation: 0 };

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
