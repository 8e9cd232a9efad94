import { randomUUID } from 'node:crypto';
import type { TrainingJob } from '@coxswain/api-types';
import { sleep, type Clock, type KubeClient } from '@coxswain/kube';
import type { ObservedLauncher, ObservedProgress } from '@coxswain/lifecycle';
import type { Logger } from '@coxswain/telemetry';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import type { Config } from '../config/config.ts';
import { TokenReviewAuthenticator } from '../reports/authenticator.ts';
import { KubernetesReportPorts, type KubernetesReportPortsOptions } from '../reports/kubernetes-report-ports.ts';
import { LauncherContacts } from '../reports/launcher-contacts.ts';
import { MessageDeduplicator } from '../reports/message-deduplicator.ts';
import { ProgressTracker } from '../reports/progress-tracker.ts';
import { Rendezvous } from '../reports/rendezvous.ts';
import { startReportServer, type ReportServer } from '../reports/report-server.ts';
import { ReportTls } from '../reports/report-tls.ts';
import { SecretAuthorityStore } from '../reports/secret-authority-store.ts';
import { SeriesRing } from '../reports/series-ring.ts';
import type { OperatorMetrics } from './operator-metrics.ts';

/** What the reporting side is made of. */
export interface ReportingParts extends Pick<
  KubernetesReportPortsOptions,
  'store' | 'term' | 'currentLeader' | 'onNews'
> {
  readonly config: Pick<Config, 'reports' | 'namespace'>;
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: OperatorMetrics;
}

const CERTIFICATE_CHECK_MS = 3_600_000;

/** What launchers report to, and what is known of jobs from their reports alone. */
export class Reporting {
  readonly #parts: ReportingParts;
  readonly #tls: ReportTls;
  readonly #progress = new ProgressTracker();
  readonly #contacts = new LauncherContacts();
  readonly #rendezvous = new Rendezvous();
  #server: ReportServer | undefined;

  constructor(parts: ReportingParts) {
    this.#parts = parts;
    const { config, client, clock } = parts;
    this.#tls = new ReportTls({
      store: new SecretAuthorityStore(client, config.namespace),
      hosts: [...new Set([...config.reports.urls, config.reports.ownUrl].map(hostOf))],
      now: () => clock.now(),
    });
  }

  /** 0 before the start. */
  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** Connected launchers. */
  get connections(): number {
    return this.#server?.connections ?? 0;
  }

  get isUp(): boolean {
    return this.#server !== undefined;
  }

  /** What a pod needs to find this endpoint and to trust it. */
  get forPods(): { readonly reportUrls: readonly string[]; readonly reportCaPem: string } {
    return { reportUrls: this.#parts.config.reports.urls, reportCaPem: this.#tls.material.caBundlePem };
  }

  progressOf(job: TrainingJob): ObservedProgress | undefined {
    return this.#progress.progressOf(job.metadata.uid, job.spec.training?.steps);
  }

  /** How long ago the launcher of each pod of the job was heard, in milliseconds, by the pod's UID. */
  heardMsOf(job: TrainingJob): ReadonlyMap<string, number> {
    return this.#contacts.ofJob(job.metadata.uid, this.#parts.clock.monotonicMs());
  }

  /** What the launchers of the job's newest epoch last said of their ranks, by their pods' UIDs. */
  launchersOf(_job: TrainingJob): ReadonlyMap<string, ObservedLauncher> {
    return new Map();
  }

  /** Tells every launcher of that epoch that is connected that the epoch is over. */
  refuseLaunchers(job: TrainingJob, epoch: number): void {
    this.#rendezvous.refuse({ jobUid: job.metadata.uid, epoch }, `epoch ${epoch} has failed`);
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#progress.forget(jobUid);
    this.#contacts.forget(jobUid);
  }

  /** Makes this replica's certificate, or takes what is left of its life further. Asks the API server. */
  async refreshCertificate(): Promise<void> {
    if (await this.#tls.refresh()) this.#server?.useCertificate(this.#tls.material.serving);
  }

  /** Opens the port; rejects when it is taken. `signal` ends waits of sessions. */
  async start(signal: AbortSignal): Promise<void> {
    const { config, client, cache, clock, metrics } = this.#parts;
    const { listenHost, listenPort, heartbeatTimeoutMs, seriesReaders } = config.reports;
    const authenticator = new TokenReviewAuthenticator({ client, clock });
    const series = new SeriesRing({ bootId: randomUUID() });
    const { store, term, currentLeader, onNews } = this.#parts;
    const ports = new KubernetesReportPorts({ client, cache, store, term, currentLeader, onNews });
    this.#server = await startReportServer({
      listenHost,
      listenPort,
      serving: this.#tls.material.serving,
      clock,
      silenceMs: heartbeatTimeoutMs,
      series: { ring: series, authenticator, readers: seriesReaders, leadership: () => ports.leadership(), clock },
      sessions: {
        ports,
        authenticator,
        series,
        progress: this.#progress,
        heard: (pod) => this.#contacts.heard(pod, clock.monotonicMs()),
        rendezvous: this.#rendezvous,
        deduplicator: new MessageDeduplicator(),
        now: () => clock.now(),
        sleep: (delayMs) => sleep(clock, delayMs, signal),
        count: (what) => metrics.countSession(what),
      },
    });
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

  /** Sends every launcher away and closes the port. */
  async stop(): Promise<void> {
    await this.#server?.stop();
  }
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
