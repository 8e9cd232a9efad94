import type { JobRecovery } from '@coxswain/api-types';
import type { QueueFigures, StartError } from '@coxswain/scheduling';
import type { KubeCounter, KubeMeasurement, KubeMetrics } from '@coxswain/kube';
import { createMetrics, type Metrics } from '@coxswain/telemetry';
import type { GoodputTotal } from './goodput-totals.ts';
import type { SessionCount } from '../ingest/session-ports.ts';

/** Everything that the operator measures of itself. No label ever names a job, pod or rank: there are too many. */
export interface OperatorMetrics extends KubeMetrics {
  readonly metrics: Metrics;
  /** The exposition text, and its content type. */
  expose(): ReturnType<Metrics['expose']>;
  countSession(what: SessionCount, count: number): void;
  /** Counts deaths and hangs of the ingest thread. */
  countIngestRestart(): void;
  /** Counts runs of ranks whose detectors ended before the run, by the bound that was reached. */
  countTelemetryLoss(bound: string, count: number): void;
  /** Counts actions for jobs that the API server rejected. */
  countRefusal(): void;
  /** Counts the start of a job for which nodes were held. */
  observeStart(error: StartError): void;
  /** Counts an incident of a job. */
  countIncident(kind: string): void;
  /** Counts a restart of a gang. */
  countRestart(cause: string): void;
  /** Measures a restart that has come to its first step. */
  observeRestart(restart: JobRecovery): void;
  /** Measures how long ranks stood still for a save. */
  observeSaveStop(seconds: number): void;
}

/** GPUs of one type. */
interface GpuCount {
  readonly type: string;
  readonly total: number;
  readonly free: number;
}

/** Figures that are read at each scrape. */
export interface Gauges {
  readonly isLeader: () => number;
  readonly launcherConnections: () => number;
  /** Share of time in which the ingest thread was busy, in [0, 1]. */
  readonly ingestUtilisation: () => number;
  readonly cachedPods: () => number;
  readonly cachedJobs: () => number;
  /** The longest present outage of any watch. */
  readonly watchOutageSeconds: () => number;
  readonly quarantinedJobs: () => number;
  /** Jobs whose status the API server has not accepted for minutes. */
  readonly unrecordedJobs: () => number;
  /** Gangs that run on although something proposes their end, by cause. */
  readonly endsHeld: () => Readonly<Record<string, number>>;
  /** Jobs by state, and those that are not placed: a walk over all jobs in the cache, a millisecond for 10,000. */
  readonly queue: () => QueueFigures;
  /** GPUs of usable nodes by type, as the Fabric says; empty where this replica does not lead. */
  readonly gpuTypes: () => readonly GpuCount[];
  /** Of the jobs in the cache, kept as they change: a scrape walks no jobs, and waits a moment for changes that are not counted yet. */
  readonly goodput: { readonly read: () => readonly GoodputTotal[]; readonly settled: () => Promise<void> };
}

const COUNTERS: Readonly<Record<KubeCounter, { readonly help: string; readonly labelNames: readonly string[] }>> = {
  reflector_lists_total: { help: 'Complete lists.', labelNames: ['collection'] },
  reflector_watches_total: { help: 'Watches that were accepted.', labelNames: ['collection'] },
  reflector_events_total: { help: 'Watch events.', labelNames: ['collection', 'type'] },
  reflector_failures_total: { help: 'Lists and watches that ended early.', labelNames: ['collection', 'cause'] },
  cache_handler_errors_total: { help: 'Handlers and indexes that threw.', labelNames: ['where'] },
  queue_adds_total: { help: 'Keys added to a queue.', labelNames: ['queue', 'priority'] },
  queue_reconciles_total: { help: 'Reconciles by result.', labelNames: ['queue', 'result'] },
  queue_quarantined_total: { help: 'Keys that were put aside for failing again and again.', labelNames: ['queue'] },
  lease_transitions_total: { help: 'Terms of leadership begun.', labelNames: [] },
  events_dropped_total: { help: 'Kubernetes Events that were not written.', labelNames: ['cause'] },
};

const MEASUREMENTS: Readonly<
  Record<KubeMeasurement, { readonly help: string; readonly labelNames: readonly string[] }>
> = {
  queue_wait_seconds: { help: 'Time from being wanted to being reconciled.', labelNames: ['queue'] },
  queue_reconcile_seconds: { help: 'Time of a reconcile.', labelNames: ['queue'] },
  queue_depth: { help: 'Keys that wait for a worker.', labelNames: ['queue'] },
  reflector_list_seconds: { help: 'Time of a complete list.', labelNames: ['collection'] },
};

const SECONDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];
/** Of restarts and their phases: from an import to a long wait for nodes. */
const RESTART_SECONDS = [0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 900, 3_600];
const DEPTHS = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];

/** Declares all metrics of the operator, in a registry of their own. */
export function createOperatorMetrics(gauges: Gauges): OperatorMetrics {
  const metrics = createMetrics({ processMetrics: true });
  const name = (short: string): string => `coxswain_operator_${short}`;
  const counters = mapValues(COUNTERS, (spec, short) => metrics.counter({ name: name(short), ...spec }));
  const histograms = mapValues(MEASUREMENTS, (spec, short) =>
    metrics.histogram({ name: name(short), ...spec, buckets: short === 'queue_depth' ? DEPTHS : SECONDS }),
  );
  const sessions = metrics.counter({
    name: name('report_frames_total'),
    help: 'What became of connections and frames of launchers.',
    labelNames: ['what'],
  });
  const ingestRestarts = metrics.counter({
    name: name('ingest_restarts_total'),
    help: 'How often the thread that takes reports died or hung, and was started again.',
    labelNames: [],
  });
  const losses = metrics.counter({
    name: name('telemetry_losses_total'),
    help: 'Runs of ranks that are no longer watched, because reports of the job, its namespace or all jobs hold too much memory, or because its detectors failed.',
    labelNames: ['bound'],
  });
  const refusals = metrics.counter({
    name: name('refusals_total'),
    help: 'Writes for a job that the cluster refused for good (validity, quota, policy); the job’s events say which.',
    labelNames: [],
  });
  metrics.gauge({ name: name('is_leader'), help: '1 while this replica leads.', collect: gauges.isLeader });
  metrics.gauge({
    name: name('launcher_connections'),
    help: 'Connected launchers.',
    collect: gauges.launcherConnections,
  });
  metrics.gauge({
    name: name('ingest_utilisation_ratio'),
    help: 'Share of its time that the thread that takes reports was busy, over the last second.',
    collect: gauges.ingestUtilisation,
  });
  metrics.gauge({ name: name('cached_pods'), help: 'Pods in the cache.', collect: gauges.cachedPods });
  metrics.gauge({ name: name('cached_jobs'), help: 'Jobs in the cache.', collect: gauges.cachedJobs });
  metrics.gauge({
    name: name('watch_outage_seconds'),
    help: 'For how long some collection has been neither listed nor watched; 0 while all are.',
    collect: gauges.watchOutageSeconds,
  });
  metrics.gauge({
    name: name('quarantined_jobs'),
    help: 'Jobs that were put aside because acting upon them failed again and again.',
    collect: gauges.quarantinedJobs,
  });
  metrics.gauge({
    name: name('unrecorded_jobs'),
    help: 'Jobs whose status the API server has not accepted for 5 min. GPUs of their ended gangs are released without a record.',
    collect: gauges.unrecordedJobs,
  });
  metrics.gauges({
    name: name('ends_held'),
    help: 'Gangs that run on although a hang, a slow rank, a leaving node or room to grow proposes their end, by cause; condition Running of their jobs has the reason, except for growth.',
    labelNames: ['cause'],
    collect: () => Object.entries(gauges.endsHeld()).map(([cause, value]) => ({ labels: { cause }, value })),
  });
  metrics.gauges({
    name: 'coxswain_jobs',
    help: 'Jobs of the cluster, by state.',
    labelNames: ['state'],
    collect: () => Object.entries(gauges.queue().jobsByState).map(([state, value]) => ({ labels: { state }, value })),
  });
  metrics.gauges({
    name: 'coxswain_gpus',
    help: 'GPUs of usable nodes by type, and whether pods or placements hold them. The leader reports them.',
    labelNames: ['type', 'use'],
    collect: () =>
      gauges.gpuTypes().flatMap(({ type, total, free }) => [
        { labels: { type, use: 'free' }, value: free },
        { labels: { type, use: 'held' }, value: total - free },
      ]),
  });
  const incidents = metrics.counter({
    name: 'coxswain_incidents_total',
    help: 'Incidents of jobs, by kind. The leader counts them.',
    labelNames: ['kind'],
  });
  const restarts = metrics.counter({
    name: 'coxswain_restarts_total',
    help: 'Restarts of gangs, by the reason for which the attempt or the incarnation before ended. The leader counts them.',
    labelNames: ['cause'],
  });
  const restartSeconds = metrics.histogram({
    name: 'coxswain_restart_seconds',
    help: 'Restarts after a failure: time from the last step before it to the first new step. The leader measures them.',
    labelNames: [],
    buckets: RESTART_SECONDS,
  });
  const restartPhases = metrics.histogram({
    name: 'coxswain_restart_phase_seconds',
    help: 'The same by phase. A phase that no launcher, hook or engine reported is not measured; its time is in the next known phase.',
    labelNames: ['phase'],
    buckets: RESTART_SECONDS,
  });
  const saveStops = metrics.histogram({
    name: 'coxswain_save_stop_seconds',
    help: 'Saves of checkpoints: how much longer the step after a save took than steps without one. The leader measures them, up to eight between two writes of progress.',
    labelNames: [],
    buckets: RESTART_SECONDS,
  });
  metrics.gauges({
    name: 'coxswain_queue_waiting_jobs',
    help: 'Jobs that are not placed, by the reason of condition Placed.',
    labelNames: ['reason'],
    collect: () =>
      Object.entries(gauges.queue().waitingByReason).map(([reason, value]) => ({ labels: { reason }, value })),
  });
  metrics.gauge({
    name: 'coxswain_queue_oldest_wait_seconds',
    help: 'The longest time for which a job has waited for GPUs; 0 if no job waits.',
    collect: () => gauges.queue().oldestWaitSeconds,
  });
  const startErrors = metrics.histogram({
    name: 'coxswain_queue_start_error_seconds',
    help: 'Starts of jobs for which nodes were held: time between the start that was expected first and the actual one, by whether the job started later or earlier.',
    labelNames: ['direction'],
    buckets: [60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400],
  });
  const startErrorShares = metrics.histogram({
    name: 'coxswain_queue_start_error_ratio',
    help: 'Starts of jobs for which nodes were held: time between the expected and the actual start, as a share of the wait that was expected first.',
    labelNames: [],
    buckets: [0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1, 2, 5],
  });
  metrics.gauges({
    name: 'coxswain_goodput_gpu_seconds',
    help: 'GPU-seconds that the jobs now in the cluster have held, by namespace and by what they went into; those of one namespace add up to all that they held.',
    labelNames: ['namespace', 'category'],
    collect: () =>
      gauges.goodput
        .read()
        .map(({ namespace, category, gpuSeconds }) => ({ labels: { namespace, category }, value: gpuSeconds })),
  });
  return {
    metrics,
    expose: async () => {
      await gauges.goodput.settled();
      return metrics.expose();
    },
    count: (counter, labels) => counters[counter].inc(known(COUNTERS[counter].labelNames, labels)),
    observe: (measurement, value, labels) =>
      histograms[measurement].observe(known(MEASUREMENTS[measurement].labelNames, labels), value),
    countSession: (what, count) => sessions.inc({ what }, count),
    countIngestRestart: () => ingestRestarts.inc({}),
    countTelemetryLoss: (bound, count) => losses.inc({ bound }, count),
    countRefusal: () => refusals.inc({}),
    countIncident: (kind) => incidents.inc({ kind }),
    countRestart: (cause) => restarts.inc({ cause }),
    observeRestart: ({ total, phases }) => {
      if (total !== null) restartSeconds.observe({}, total);
      for (const { phase, seconds } of phases) if (seconds !== null) restartPhases.observe({ phase }, seconds);
    },
    observeSaveStop: (seconds) => saveStops.observe({}, seconds),
    observeStart: ({ errorSeconds, share }) => {
      startErrors.observe({ direction: errorSeconds < 0 ? 'earlier' : 'later' }, Math.abs(errorSeconds));
      if (share !== undefined) startErrorShares.observe({}, share);
    },
  };
}

/** prom-client throws on an undeclared label, and a metric must not make the operator fail. */
function known(names: readonly string[], labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]])));
}

function mapValues<K extends string, V, R>(record: Readonly<Record<K, V>>, map: (value: V, key: K) => R): Record<K, R> {
  const entries = (Object.entries(record) as [K, V][]).map(([key, value]) => [key, map(value, key)] as const);
  return Object.fromEntries(entries) as Record<K, R>;
}
