import { type EngineName, stepsOf, type TrainingJob } from '@coxswain/api-types';
import { sleep, type Clock, type KubeClient } from '@coxswain/kube';
import type {
  Finding,
  ObservedLauncher,
  ObservedPreflight,
  ObservedProgress,
  ObservedTrained,
  Verdict,
} from '@coxswain/lifecycle';
import type { Logger } from '@coxswain/telemetry';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import type { Config } from '../config/config.ts';
import { HealthController } from '../launchers/health-controller.ts';
import type { HealthReport } from '../ingest/health-watch.ts';
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
import { KubernetesReportPorts, type KubernetesReportPortsOptions } from '../launchers/kubernetes-report-ports.ts';
import { LauncherContacts } from '../launchers/launcher-contacts.ts';
import { LauncherController } from '../launchers/launcher-controller.ts';
import { NewestEpochs } from '../launchers/newest-epochs.ts';
import { PreflightController } from '../launchers/preflight-controller.ts';
import { TrainedFactsController } from '../launchers/trained-facts-controller.ts';
import { ProgressBoard } from '../launchers/progress-board.ts';
import type { SessionCount } from '../ingest/session-ports.ts';
import { ReportTls } from '../ingest/report-tls.ts';
import { SecretAuthorityStore } from '../ingest/secret-authority-store.ts';
import type { OperatorMetrics } from './operator-metrics.ts';

/** What the reporting side is made of. */
export interface ReportingParts extends Pick<KubernetesReportPortsOptions, 'store' | 'term' | 'currentLeader'> {
  readonly config: Pick<Config, 'reports' | 'retention' | 'namespace' | 'kubeconfigPath'>;
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: OperatorMetrics;
  /** What is left of the present term, in milliseconds, unless it is renewed. */
  readonly termLeftMs: () => number;
  /** A launcher of that job has something to say. */
  readonly onNews: (jobUid: string, news: 'progress' | 'ended') => void;
  /** Detectors found something of the job's gang: for people, once. */
  readonly onVerdict: (job: TrainingJob, verdict: HealthReport['verdict']) => void;
}

/** Engines of which the hook knows the functions that save and evaluate (engines/agent/hook/coxswain_hook/phase.py). Others run scripts of their users. */
const KNOWN_PHASES: readonly EngineName[] = [
  'reference',
  'megatron-lm',
  'megatron-bridge',
  'torchtitan',
  'hugging-face',
];

const DAY_MS = 86_400_000;
const CERTIFICATE_CHECK_MS = 3_600_000;

/** What launchers report to, and what is known of jobs from their reports alone. Reports are taken in a thread of their own. */
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
        // Of ranks that have ended nothing is heard either, and all is well.
        if (gang === undefined || gang === 'gone' || gang.attempt.endedAt !== undefined) return;
        parts.onVerdict(gang.job, verdict);
      },
      knowsPhases: (jobUid) => {
        const gang = ports.newestGang(jobUid);
        return gang !== undefined && gang !== 'gone' && KNOWN_PHASES.includes(gang.job.spec.engine.name);
      },
      nodesOf: (jobUid) => ports.roster(jobUid)?.nodes.length ?? 0,
      condemnedToday: (jobUid) => {
        const gang = ports.newestGang(jobUid);
        return gang === undefined || gang === 'gone'
          ? Infinity
          : condemnedSince(gang.job, clock.now().getTime() - DAY_MS);
      },
    });
  }

  /** 0 before the start. */
  get port(): number {
    return this.#thread.port;
  }

  /** Connected launchers, a second ago. */
  get connections(): number {
    return this.#lastDigest.connections;
  }

  /** Share of its time that the thread of the reports was busy, in [0, 1]. */
  get utilisation(): number {
    return this.#lastDigest.utilisation;
  }

  get isUp(): boolean {
    return this.#thread.isListening;
  }

  /** How long ago the thread of the reports last told anything; 0 before the start. */
  get silentMs(): number {
    return this.#thread.silentMs;
  }

  /** What a pod needs to find this endpoint and to trust it. */
  get forPods(): { readonly reportUrls: readonly string[]; readonly reportCaPem: string } {
    return { reportUrls: this.#parts.config.reports.urls, reportCaPem: this.#tls.material.caBundlePem };
  }

  progressOf(job: TrainingJob): ObservedProgress | undefined {
    return this.#progress.progressOf(job.metadata.uid, stepsOf(job.spec));
  }

  /** How long ago the launcher of each pod of the job was heard, in milliseconds, by the pod's UID. */
  heardMsOf(job: TrainingJob): ReadonlyMap<string, number> {
    return this.#contacts.ofJob(job.metadata.uid, this.#parts.clock.monotonicMs());
  }

  /** What the launchers of the job's newest epoch last said of their ranks, by their pods' UIDs. */
  launchersOf(job: TrainingJob): ReadonlyMap<string, ObservedLauncher> {
    return this.#launchers.ofJob(job.metadata.uid);
  }

  /** What came of the look around before the first rank of the job's newest gang, once that is known. */
  preflightOf(job: TrainingJob): ObservedPreflight | undefined {
    return this.#preflights.ofJob(job.metadata.uid);
  }

  /** What the ranks of the job's newest gang really train, held against its layout, once one has told. */
  trainedOf(job: TrainingJob): ObservedTrained | undefined {
    return this.#trained.ofJob(job.metadata.uid);
  }

  /** Whom detectors call to blame for what the job's newest gang suffers. */
  verdictsOf(job: TrainingJob): readonly Verdict[] {
    return this.#health.ofJob(job);
  }

  /** All that detectors see of the job's newest gang. */
  findingsOf(job: TrainingJob): readonly Finding[] {
    return this.#health.findingsOf(job);
  }

  /** Tells every launcher of that epoch that is connected that the epoch is over. */
  refuseLaunchers(job: TrainingJob, epoch: number): void {
    const why = `epoch ${epoch} has failed`;
    this.#thread.send({ kind: 'refuse', jobUid: job.metadata.uid, epoch, why });
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#progress.forget(jobUid);
    this.#contacts.forget(jobUid);
    this.#launchers.forget(jobUid);
    this.#preflights.forget(jobUid);
    this.#trained.forget(jobUid);
    this.#health.forget(jobUid);
    this.#ports.forget(jobUid);
    this.#thread.send({ kind: 'forget', jobUid });
  }

  /** Makes this replica's certificate, or takes what is left of its life further. Asks the API server. */
  async refreshCertificate(): Promise<void> {
    if (await this.#tls.refresh()) this.#thread.send({ kind: 'certificate', serving: this.#tls.material.serving });
  }

  /** Starts the thread, which opens the port; rejects when it is taken. */
  async start(): Promise<void> {
    await this.#thread.start();
  }

  /** Looks at the certificate every hour until `signal` aborts. */
  async keepCertificate(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    for (;;) {
      await sleep(clock, CERTIFICATE_CHECK_MS, signal);
      if (signal.aborted) return;
      try {
        await this.refreshCertificate();
      } catch (error) {
        log.warn({ err: error }, 'the report certificate could not be checked; it is tried again in an hour');
      }
    }
  }

  /** Sends every launcher away, closes the port and ends the thread. */
  async stop(): Promise<void> {
    await this.#thread.stop();
  }

  #startOfThread(): IngestStart {
    const { reports, kubeconfigPath } = this.#parts.config;
    const { listenHost, listenPort, ownUrl, heartbeatTimeoutMs, seriesReaders, healthWindowMs } = reports;
    const { healthTraceDirectory } = reports;
    return {
      listenHost,
      listenPort,
      ownUrl,
      serving: this.#tls.material.serving,
      silenceMs: heartbeatTimeoutMs,
      seriesReaders,
      healthWindowMs,
      ...(healthTraceDirectory === undefined ? {} : { healthTraceDirectory }),
      ...(kubeconfigPath === undefined ? {} : { kubeconfigPath }),
    };
  }

  /** What the thread is to know, some times a second; and what launchers are told because something has changed since. */
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
    // Elected, and still looking at the cluster: nobody is sent here, where he is.
    return view.leaderUrl === this.#parts.config.reports.ownUrl ? { leading: false } : view;
  }

  async #answer(question: IngestQuestion): Promise<IngestAnswer> {
    if (question.kind === 'recordCheckpoint') {
      return this.#ports.recordCheckpoint(question.pod, question.saved).catch(() => 'failed' as const);
    }
    if (question.kind === 'isKnownPod') return this.#ports.isKnownPod(question.pod);
    if (question.kind === 'rosterOf') return this.#ports.roster(question.jobUid);
    const pod = await this.#ports.findPod(question.pod);
    return typeof pod === 'string' ? { pod } : { pod, newest: this.#epochs.follow(pod.jobUid) };
  }

  #take(digest: IngestDigest): void {
    const { clock, metrics, onNews } = this.#parts;
    this.#lastDigest = digest;
    // Not when it is read: what has lain here while the loop stood still is as old as it is.
    const contactAtMs = clock.monotonicMs() - Math.max(0, sharedMonotonicMs() - digest.sentAtMs);
    for (const { jobUid, epoch, podUids } of digest.contacts) {
      for (const podUid of podUids) this.#contacts.record({ jobUid, epoch, podUid }, contactAtMs);
    }
    for (const steps of digest.progress) if (this.#progress.take(steps)) onNews(steps.jobUid, 'progress');
    for (const jobUid of this.#launchers.receive(digest.launchers)) onNews(jobUid, 'ended');
    for (const jobUid of this.#preflights.receive(digest.preflights)) onNews(jobUid, 'ended');
    for (const jobUid of this.#trained.receive(digest.trained)) onNews(jobUid, 'progress');
    for (const jobUid of this.#health.receive(digest.health)) onNews(jobUid, 'ended');
    for (const jobUid of digest.ended) onNews(jobUid, 'ended');
    for (const [what, count] of Object.entries(digest.counts)) metrics.countSession(what as SessionCount, count);
  }

  #onDeath(reason: Error, againInMs: number): void {
    this.#epochs.reset();
    this.#lastDigest = NOTHING;
    this.#parts.metrics.countIngestRestart();
    this.#parts.log.error({ err: reason, againInMs }, 'launchers cannot report until their thread is started again');
  }
}

function condemnedSince({ status }: TrainingJob, sinceMs: number): number {
  const attempts = status?.attempts ?? [];
  return attempts.filter(({ reason, endedAt }) => reason === 'Condemned' && Date.parse(endedAt ?? '') >= sinceMs)
    .length;
}

const NOTHING = { connections: 0, utilisation: 0 };

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
