import {
  CONTAINERS,
  EXIT_CODES,
  GPU_RESOURCE,
  LABELS,
  type Placement,
  type TerminationCause,
  type TrainingJob,
} from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { keyOf, type KubeObject } from '@coxswain/kube';
import type { EndArbiter } from '@coxswain/lifecycle';
import type { ClusterScheduler, PriorityClassFacts } from '@coxswain/scheduling';
import { TrainingJobReconciler, type ReconcilerOptions } from '../training-job.reconciler.ts';
import type { NodeSearches } from '../node-searches.ts';
import { createInMemoryScheduler } from './in-memory-scheduler.ts';
import { InMemoryCluster } from './in-memory-cluster.ts';
import { InMemoryTrainingJobStore, type StoreWrite } from './in-memory-training-job-store.ts';

/** What becomes of a pod that was bound: it runs, or its trainer exits with that code, or for the cause that its launcher gives. */
export type PodFate = (pod: {
  readonly jobName: string;
  readonly epoch: number;
  readonly podIndex: number;
}) => 'runs' | number | TerminationCause;

/** A cluster in memory with two nodes of two GPUs, one job of two pods, and an operator that a test may kill and start again. */
export class ReconcilerWorld {
  readonly cluster: InMemoryCluster;
  readonly key: string;
  /** What was done to the cluster, in order: method of the store and name. */
  readonly writes: string[] = [];
  /** What people were told: types of events, and warnings. */
  readonly announced: string[] = [];
  readonly warnings: string[] = [];
  /** Epochs whose launchers were told that it is over. */
  readonly refused: number[] = [];
  /** Shown every write before and after it is done; what it throws is what the write fails with. */
  onWrite: (write: StoreWrite) => void = () => undefined;
  /** Shown the name of each pod that is tried in a dry run; what it throws is what the cluster says to it. */
  onProbe: (name: string) => void = () => undefined;
  /** What detectors and launchers report of jobs. */
  reports: Partial<Pick<ReconcilerOptions, 'verdictsOf' | 'findingsOf' | 'readEvidence' | 'progressOf' | 'hearing'>> =
    {};
  readonly #arbiter: EndArbiter | undefined;
  readonly #nodeSearches: ((scheduler: ClusterScheduler) => NodeSearches) | undefined;
  priorityClasses: readonly PriorityClassFacts[] = [];
  leaderTerm = 1;
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  store: InMemoryTrainingJobStore;
  scheduler: ClusterScheduler;
  reconciler: TrainingJobReconciler;

  /** `beside`: a world whose cluster this job is in too, and to which it brings two nodes of its own. */
  constructor(
    spec: NonNullable<Parameters<typeof aTrainingJob>[0]>['spec'] = {},
    about: {
      readonly beside?: ReconcilerWorld | undefined;
      readonly name?: string;
      readonly arbiter?: EndArbiter;
      /** Searches beside the loop; absent: nodes are searched in it. */
      readonly nodeSearches?: (scheduler: ClusterScheduler) => NodeSearches;
    } = {},
  ) {
    this.cluster = about.beside?.cluster ?? new InMemoryCluster();
    this.#arbiter = about.arbiter;
    this.#nodeSearches = about.nodeSearches;
    this.cluster.nowMs = () => this.nowMs;
    const { apiVersion, kind, metadata, spec: wanted } = aTrainingJob({ spec: { ...QUICK_RESTART, ...spec } });
    const { namespace } = metadata;
    const name = about.name ?? metadata.name;
    for (const node of ['node-a', 'node-b']) this.node(about.name === undefined ? node : `${node}-of-${name}`);
    const job = this.cluster.create('TrainingJob', { apiVersion, kind, metadata: { name, namespace }, spec: wanted });
    this.key = keyOf(job);
    ({ store: this.store, scheduler: this.scheduler, reconciler: this.reconciler } = this.#start());
  }

  /** A new process: what the earlier one held in memory is gone. */
  restart(): void {
    this.leaderTerm += 1;
    ({ store: this.store, scheduler: this.scheduler, reconciler: this.reconciler } = this.#start());
  }

  #start(): Pick<ReconcilerWorld, 'store' | 'scheduler' | 'reconciler'> {
    const scheduler = createInMemoryScheduler(this.cluster, () => this.nowMs);
    const store = new InMemoryTrainingJobStore(this.cluster);
    store.onProbe = (name) => this.onProbe(name);
    store.onWrite = (write) => {
      if (write.moment === 'before') this.writes.push(write.what);
      this.onWrite(write);
    };
    const options: ReconcilerOptions = {
      store,
      scheduler,
      clock: { now: () => new Date(this.nowMs), monotonicMs: () => this.nowMs },
      leaderTerm: () => this.leaderTerm,
      priorityClasses: () => this.priorityClasses,
      reportAgesMsOf: () => new Map(),
      launchersOf: () => new Map(),
      timeouts: {},
      retention: {},
      pods: () => ({
        launcherImage: 'launcher',
        reportUrls: ['https://operator:9443'],
        reportCaPem: '',
        user: undefined,
      }),
      progressOf: (job) => this.reports.progressOf?.(job),
      preflightOf: () => undefined,
      trainedOf: () => undefined,
      verdictsOf: (job) => this.reports.verdictsOf?.(job) ?? [],
      ...(this.#arbiter === undefined ? {} : { arbiter: this.#arbiter }),
      ...(this.#nodeSearches === undefined ? {} : { nodeSearches: this.#nodeSearches(scheduler) }),
      readEvidence: async (job) => this.reports.readEvidence?.(job),
      findingsOf: (job) => this.reports.findingsOf?.(job) ?? [],
      // Nothing is known of these nodes' GPUs, so there is nothing to predict; what is asked is job-planner.spec.ts.
      planner: { planningOf: () => undefined, ask: () => undefined, forget: () => undefined },
      runtimes: { runtimeOf: () => undefined, read: () => undefined },
      effects: {
        refuseLaunchers: (_job, epoch) => void this.refused.push(epoch),
        warnOfUnrecordedPlacements: () => undefined,
        warn: (_job, message) => void this.warnings.push(message),
        recordEvents: (_job, events) => void this.announced.push(...events.map(({ type }) => type)),
      },
      warnOfRuntime: (_job, message) => void this.warnings.push(message),
    };
    return { store, scheduler, reconciler: new TrainingJobReconciler(options) };
  }

  reconcile(): Promise<{ readonly requeueAfterMs?: number }> {
    return this.reconciler.reconcile(this.key);
  }

  /** The job as the cluster holds it; fails when it is gone. */
  get job(): TrainingJob {
    const job = this.store.findJob(this.key);
    if (job === undefined) throw new Error(`the job ${this.key} is gone`);
    return job;
  }

  get pods(): readonly RawPod[] {
    return this.cluster.list<RawPod>('Pod');
  }

  node(name: string, gpus = 2): void {
    this.cluster.create('Node', {
      apiVersion: 'v1',
      metadata: { name },
      status: { allocatable: { [GPU_RESOURCE]: String(gpus) }, conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }

  /** Somebody else changes the job. */
  edit(change: (job: TrainingJob & KubeObject) => TrainingJob & KubeObject): void {
    this.cluster.update('TrainingJob', this.key, { expects: {}, change });
  }

  /** Somebody takes a pod away with all that holds it. */
  vanish(key: string): void {
    const change = (pod: RawPod): RawPod => ({ ...pod, metadata: { ...pod.metadata, finalizers: [] } });
    this.cluster.update('Pod', key, { expects: {}, change });
    this.cluster.delete('Pod', key, { gracePeriodSeconds: 0 });
  }

  /** What scheduler and kubelets do meanwhile: pods without a gate are bound and run, meet their fate, and go when they are deleted. */
  turn(fateOf: PodFate = () => 'runs'): void {
    for (const pod of this.pods) {
      const key = keyOf(pod);
      if (pod.metadata.deletionTimestamp !== undefined) {
        this.#endDeleted(pod);
        continue;
      }
      if ((pod.spec.schedulingGates ?? []).length > 0) continue;
      const { labels = {} } = pod.metadata;
      const epoch = Number(labels[LABELS.epoch]);
      const podIndex = Number(labels[LABELS.podIndex]);
      const job = this.cluster
        .list<TrainingJob & KubeObject>('TrainingJob')
        .find(({ metadata }) => metadata.uid === labels[LABELS.jobUid]);
      const placement = this.cluster.list<Placement & KubeObject>('Placement').find(({ spec, metadata: { name } }) => {
        const isRecorded = job?.status?.attempts?.some((attempt) => attempt.placement === name) === true;
        return spec.epoch === epoch && isRecorded;
      });
      const nodeName = placement?.spec.nodes[podIndex] ?? 'node-a';
      const isFinal = ['Succeeded', 'Failed'].includes(
        (pod.status as { readonly phase?: string } | undefined)?.phase ?? '',
      );
      if (isFinal) continue;
      const status =
        pod.spec.nodeName === undefined
          ? RUNNING
          : this.#statusOf(fateOf({ jobName: job?.metadata.name ?? '', epoch, podIndex }));
      const change = (current: RawPod): RawPod => ({ ...current, spec: { ...current.spec, nodeName }, status });
      this.cluster.update('Pod', key, { expects: {}, change });
    }
  }

  /** A kubelet reports the end of what it was told to delete, and only then deletes it for good. */
  #endDeleted(pod: RawPod): void {
    const key = keyOf(pod);
    const { phase } = (pod.status ?? {}) as { readonly phase?: string };
    if (pod.spec.nodeName !== undefined && phase !== 'Succeeded' && phase !== 'Failed') {
      this.cluster.update<RawPod>('Pod', key, {
        expects: {},
        change: (one) => ({ ...one, status: this.#statusOf(143) }),
      });
    }
    this.cluster.delete('Pod', key, { gracePeriodSeconds: 0 });
  }

  #statusOf(fate: ReturnType<PodFate>): unknown {
    if (fate === 'runs') return RUNNING;
    const exitCode = typeof fate === 'number' ? fate : (fate.exitCode ?? EXIT_CODES[fate.kind].code);
    const message = typeof fate === 'number' ? {} : { message: JSON.stringify(fate) };
    const finishedAt = new Date(this.nowMs).toISOString();
    return containerStatus(exitCode === 0 ? 'Succeeded' : 'Failed', {
      terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt, ...message },
    });
  }

  /** Reconciles and lets the cluster do its part, until nothing changes any more. */
  async live(fateOf?: PodFate): Promise<void> {
    for (let turn = 0; turn < MAX_TURNS; turn += 1) {
      const before = this.picture();
      await this.reconcile();
      this.turn(fateOf);
      this.nowMs += 1_000;
      if (this.picture() === before) return;
    }
    throw new Error(`after ${MAX_TURNS} turns the cluster still changes: ${this.picture()}`);
  }

  /** Everything that the cluster holds, as text. */
  picture(): string {
    return JSON.stringify(
      (['TrainingJob', 'Placement', 'Checkpoint', 'Pod'] as const).map((kind) => this.cluster.list(kind)),
    );
  }
}

/** As much of a pod as its kubelet looks at. */
export type RawPod = KubeObject & {
  readonly spec: { readonly nodeName?: string; readonly schedulingGates?: readonly { readonly name: string }[] };
  readonly status?: unknown;
};

const QUICK_RESTART = { restartPolicy: { maxRestarts: 2, delaySeconds: 0 } };
const MAX_TURNS = 40;

const RUNNING = containerStatus('Running', { running: { startedAt: '2026-01-01T00:00:00Z' } });

function containerStatus(phase: string, state: unknown): unknown {
  return { phase, containerStatuses: [{ name: CONTAINERS.trainer, image: 'example/image', state }] };
}
