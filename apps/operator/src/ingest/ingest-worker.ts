/** The ingest thread: everything between the sockets of launchers and the digests for the loop. See `ingest-thread.ts`. */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import { createKubeClient, sleep, systemClock } from '@coxswain/kube';
import { TokenReviewAuthenticator } from './authenticator.ts';
import { fairShareOf } from './fair-share.ts';
import { HealthWatch } from './health-watch.ts';
import { ActivePods } from './active-pods.ts';
import { sharedMonotonicMs, type FromIngest, type IngestStart, type ToIngest } from './ingest-messages.ts';
import { IngestPorts } from './ingest-ports.ts';
import { JobTelemetry } from './job-telemetry.ts';
import { LauncherReports } from './launcher-reports.ts';
import { MessageDeduplicator } from './message-deduplicator.ts';
import { ProgressTracker } from './progress-tracker.ts';
import { ObservedTelemetry } from './observed-telemetry.ts';
import { Rendezvous } from './rendezvous.ts';
import { startReportServer } from './report-server.ts';
import type { PodPreflightReport, SessionCount, PodTrainedReport } from './session-ports.ts';
import { SeriesRing } from './series-ring.ts';
import { StackRequests } from './stack-requests.ts';
import { TraceRecorder } from './trace-recorder.ts';
import { WaitingLaunchers } from './waiting-launchers.ts';

const DIGEST_MS = 1_000;
/** Delay of a digest with ended ranks, new launcher states or verdicts. */
const HURRY_MS = 100;

const start = workerData as IngestStart;
const send = (message: FromIngest): void => parentPort?.postMessage(message);
const warn = (message: string): void => void process.stderr.write(`coxswain: ${message}\n`);
const clock = systemClock;
const stopping = new AbortController();

const client = createKubeClient({
  ...(start.kubeconfigPath === undefined ? {} : { kubeconfigPath: start.kubeconfigPath }),
  userAgent: 'coxswain-operator-reports',
  maxInFlight: 16,
});
const authenticator = new TokenReviewAuthenticator({ client, clock });
const ports = new IngestPorts({ clock, ask: (id, question) => send({ kind: 'question', id, question }) });
const series = new SeriesRing({ bootId: randomUUID() });
const progress = new ProgressTracker();
const { healthTraceDirectory: directory } = start;
const records = directory === undefined ? undefined : new TraceRecorder({ directory, warn });
const rendezvous = new Rendezvous();
const stacks = new StackRequests({
  rendezvous,
  rosterOf: (jobUid) => ports.rosterOf(jobUid),
  clock,
  kilobytesPerSecond: () => fairShareOf(server.connections).kilobytes.perSecond,
});
const health = new HealthWatch({
  monotonicMs: () => clock.monotonicMs(),
  rosterOf: (jobUid) => ports.rosterOf(jobUid),
  windowMs: start.healthWindowMs,
  idleMs: start.idleMs,
  ...(records === undefined ? {} : { records }),
  stacks: (run, ranks) => stacks.evidenceOf(run, ranks),
});
const observed =
  (start.observedNamespaces ?? []).length > 0
    ? new ObservedTelemetry({
        client,
        clock,
        authenticator,
        leadership: () => ports.leadership(),
        windowMs: start.healthWindowMs,
        idleMs: start.idleMs,
        namespaces: start.observedNamespaces ?? [],
        warn,
        kilobytesPerSecond: () => fairShareOf(server.connections).kilobytes.perSecond,
      })
    : undefined;
const telemetry = new JobTelemetry({ health, progress, stacks });
const active = new ActivePods();
const launchers = new LauncherReports();
/** The newest report of each pod; bounded by the number of pods. */
const preflights = new Map<string, PodPreflightReport>();
const trained = new Map<string, PodTrainedReport>();
let counts: Partial<Record<SessionCount, number>> = {};

const readers = { authenticator, readers: start.seriesReaders, leadership: () => ports.leadership() };

const server = await startReportServer({
  listenHost: start.listenHost,
  listenPort: start.listenPort,
  ownUrl: start.ownUrl,
  serving: start.serving,
  clock,
  silenceMs: start.silenceMs,
  series: { ...readers, ring: series, clock },
  stacks: { ...readers, requests: stacks },
  ...(observed === undefined
    ? {}
    : { observed: { endpoint: observed.endpoint, jobs: { ...readers, jobs: observed.jobs } } }),
  keptLogs: { ...readers, open: (request) => ports.openKeptLogs(request) },
  sessions: {
    ports,
    authenticator,
    series,
    progress,
    health,
    recordContact: (pod) => active.add(pod),
    recordLauncher: (report) => launchers.add(report),
    recordPreflight: (report) => void preflights.set(report.podUid, report),
    recordStacks: (pod, answer) => stacks.receive(pod, answer),
    recordTrained: (report) => void trained.set(`${report.jobUid} ${report.podIndex}`, report),
    rendezvous,
    waiting: new WaitingLaunchers(),
    deduplicator: new MessageDeduplicator(),
    now: () => clock.now(),
    sleep: (delayMs) => sleep(clock, delayMs, stopping.signal),
    count: (what, by = 1) => {
      counts[what] = (counts[what] ?? 0) + by;
    },
  },
});

void observed?.run(stopping.signal);

/** Whether the previous digest was taken. Until then the next one accumulates instead of being sent. */
let isTaken = true;
let digestedAtMs = 0;
let busy = performance.eventLoopUtilization();

function digest(): void {
  const sinceMs = clock.monotonicMs() - digestedAtMs;
  const isUrgent = ports.hasEnded || health.hasReports || launchers.hasNew || preflights.size > 0;
  if (sinceMs >= DIGEST_MS) health.tick();
  health.serve();
  observed?.serve();
  if (!isTaken || sinceMs < (isUrgent ? HURRY_MS : DIGEST_MS)) return;
  const now = performance.eventLoopUtilization();
  send({
    kind: 'digest',
    digest: {
      contacts: active.take(),
      sentAtMs: sharedMonotonicMs(),
      progress: telemetry.takeProgress(),
      ended: ports.takeEnded(),
      launchers: launchers.take(),
      preflights: [...preflights.values()],
      health: health.takeReports(),
      standings: health.takeStandings(),
      losses: health.takeLosses(),
      trained: [...trained.values()],
      counts,
      connections: server.connections,
      utilisation: performance.eventLoopUtilization(now, busy).utilization,
    },
  });
  counts = {};
  preflights.clear();
  trained.clear();
  busy = now;
  isTaken = false;
  digestedAtMs = clock.monotonicMs();
}

const digests = setInterval(digest, HURRY_MS);

async function stop(): Promise<void> {
  stopping.abort();
  clearInterval(digests);
  await server.stop();
  await records?.close();
  await client.close();
  send({ kind: 'stopped' });
  parentPort?.close();
}

function receive(message: ToIngest): void {
  switch (message.kind) {
    case 'view':
      ports.receiveView(message);
      return telemetry.receiveEpochs(message.jobs);
    case 'answer':
      return ports.receiveAnswer(message);
    case 'refuse':
      return rendezvous.refuse(message, message.why);
    case 'order':
      return rendezvous.send(message, message.message);
    case 'forget':
      ports.forget(message.jobUid);
      return telemetry.forget(message.jobUid);
    case 'certificate':
      return server.useCertificate(message.serving);
    case 'readEvidence':
      return send({ kind: 'evidence', id: message.id, evidence: health.evidenceOf(message.jobUid, message.ranks) });
    case 'digestTaken':
      isTaken = true;
      return;
    case 'stop':
      void stop();
      return;
  }
}

parentPort?.on('message', receive);
send({ kind: 'listening', port: server.port });
