import {
  type Condition,
  NODE_LABELS,
  type Placement,
  type PlacementSpec,
  podName,
  type TrainingJob,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { findNodes, type NodeFacts } from '@coxswain/fabric';
import { ClusterScheduler } from '../cluster-scheduler.ts';
import { gpusOfPlacement } from '../promises/holders.ts';
import type { NodePromise } from '../promises/node-promise.ts';
import type { SchedulerView } from '../scheduler-view.ts';

const MINUTE_MS = 60_000;
const BEGAN_MS = Date.parse('2026-01-01T00:00:00Z');
const PLANNED = { fabric: '', plannerVersion: '', plannedAt: '' };
/** How long a start is assumed to take. */
const START_MINUTES = 3;
/** Steps that each job states. */
const STEPS = 100;

/** A job of a virtual cluster. */
export interface VirtualJob {
  readonly name: string;
  readonly namespace?: string;
  readonly priority?: number;
  /** Pods of eight GPUs. */
  readonly pods: number;
  /** How long it trains. */
  readonly minutes: number;
  /** How long it is predicted to train; null: nothing is known. Absent: exactly as long as it trains. */
  readonly predictedMinutes?: number | null;
  /** Its runtime is read before it asks for nodes, as after the operator has started. */
  readonly readsRuntime?: boolean;
}

/** A cluster whose time is virtual, with the real scheduler: jobs are placed, run and end as an operator would see it. */
export class VirtualCluster {
  scheduler: ClusterScheduler;
  readonly view: SchedulerView;
  /** Minutes since the beginning. */
  minutes = 0;
  readonly started: string[] = [];
  readonly #nodes: readonly NodeFacts[];
  readonly #jobs = new Map<string, TrainingJob>();
  readonly #facts = new Map<string, VirtualJob>();
  readonly #placements = new Map<string, PlacementSpec>();
  readonly #ends = new Map<string, number>();

  /** Nodes of eight GPUs; those of an island are named after it. */
  constructor(
    islands: readonly number[],
    beside: Pick<SchedulerView, 'findNodes' | 'promisesChanged' | 'windows'> = {},
  ) {
    this.#nodes = islands.flatMap((count, island) =>
      Array.from({ length: count }, (_, at) => ({
        name: `n${island}-${at}`,
        labels: { [NODE_LABELS.nicIsland]: `island-${island}` },
        gpuCapacity: 8,
        schedulable: true,
        ready: true,
      })),
    );
    this.view = { ...this.#viewOfIt(), ...beside };
    this.scheduler = new ClusterScheduler(this.view);
  }

  /** Jobs that have neither started nor ended. */
  get waiting(): readonly string[] {
    return [...this.#jobs.keys()].filter((uid) => !this.#placements.has(uid) && !this.started.includes(uid));
  }

  get isIdle(): boolean {
    return this.#ends.size === 0;
  }

  /** The nodes that are held for the job. */
  promiseFor(uid: string): NodePromise | undefined {
    const promise = this.scheduler.promiseFor(uid);
    return promise === 'deriving' ? undefined : promise;
  }

  submit(facts: VirtualJob): void {
    const { name, namespace = 'x', priority = 0, pods, minutes, predictedMinutes = minutes } = facts;
    const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 8 * pods };
    const training = { steps: STEPS, globalBatchSize: 8 * pods, learningRate: 0.01 };
    const stepMs = ((predictedMinutes ?? 0) * MINUTE_MS) / training.steps;
    const prediction = { predictedStepMs: stepMs, predictedStepLowMs: stepMs, predictedStepHighMs: stepMs };
    const status = {
      epoch: 0,
      restarts: { total: 0, charged: 0 },
      askedAt: this.#now(),
      priority: { value: priority },
      ...(predictedMinutes === null
        ? {}
        : { plan: { ...prediction, chosenBy: 'User' as const, gpus: 8 * pods, ...PLANNED } }),
    };
    const metadata = { name, namespace, uid: name, creationTimestamp: this.#now() };
    this.#facts.set(name, facts);
    this.#jobs.set(name, aTrainingJob({ metadata, spec: { layout, training }, status }));
    if (facts.readsRuntime === true) {
      this.#write(name, { conditions: [placed('False', 'ReadingRuntime')] });
      this.offer();
    }
    this.reconcile(name);
  }

  /** Another process leads, which remembers nothing. */
  restart(): void {
    this.scheduler = new ClusterScheduler(this.view);
  }

  /** A user changes the job's spec, or deletes it. */
  change(uid: string, spec: Partial<TrainingJob['spec']> | 'deleted'): void {
    const before = this.#jobs.get(uid);
    if (before === undefined) return;
    const after = spec === 'deleted' ? undefined : { ...before, spec: { ...before.spec, ...spec } };
    if (after === undefined) this.#jobs.delete(uid);
    else this.#jobs.set(uid, after);
    this.scheduler.jobChanged(before, after);
    this.offer();
  }

  /** The job's turn came, and the cluster refuses its pods, for example because a quota is full. */
  refusePods(uid: string): void {
    this.#write(uid, { conditions: [placed('False', 'PodsRefused')] });
    this.offer();
  }

  /** Time passes until the next end of a job. */
  nextEnd(): void {
    const [next] = [...this.#ends].sort(([, one], [, other]) => one - other);
    if (next === undefined) return;
    this.advance(next[1] - this.minutes);
  }

  /** Time passes, and the jobs that are over by then end in order. */
  advance(minutes: number): void {
    const until = this.minutes + minutes;
    for (;;) {
      const [next] = [...this.#ends].filter(([, at]) => at <= until).sort(([, one], [, other]) => one - other);
      if (next === undefined) break;
      this.minutes = Math.max(this.minutes, next[1]);
      this.#end(next[0]);
    }
    this.minutes = until;
    this.offer();
  }

  /** What is free is offered, and each job that may have it is reconciled. */
  offer(): void {
    for (const { metadata } of this.scheduler.offer('gpus')) this.reconcile(metadata.uid);
  }

  /** The job asks for nodes, as a pass over it does. */
  reconcile(uid: string): void {
    const job = this.#jobs.get(uid);
    if (job === undefined || this.#placements.has(uid) || job.spec.layout === undefined || job.spec.suspend) return;
    const request = { layout: job.spec.layout, gpusPerNode: 8 };
    if (this.scheduler.standingRefusal(uid, request) !== undefined) return this.#wait(uid);
    const capacity = this.scheduler.capacityFor(uid);
    const found = findNodes(request, capacity);
    if (found === undefined) {
      this.scheduler.recordRefusal({ request, refusal: { kind: 'waiting', message: '' }, jobUid: uid });
      return this.#wait(uid);
    }
    const placement = {
      jobName: uid,
      jobUid: uid,
      epoch: 1,
      layout: request.layout,
      worldSize: request.layout.dataParallelDegree,
      ranksPerPod: 8,
      nodes: [...found.nodes],
    };
    if (this.scheduler.reserve(placement, capacity.version)) this.#start(uid, placement);
    else this.#wait(uid);
  }

  #start(uid: string, placement: PlacementSpec): void {
    const { minutes = 0 } = this.#facts.get(uid) ?? {};
    this.#placements.set(uid, placement);
    this.#ends.set(uid, this.minutes + START_MINUTES + minutes);
    this.started.push(uid);
    this.scheduler.markCreated(uid);
    const attempt = anAttempt({
      stage: 'Released',
      placement: `${uid}-e1`,
      layout: placement.layout,
      startedAt: this.#now(),
    });
    this.#write(uid, { epoch: 1, attempts: [attempt], conditions: [placed('True', 'GangPlaced')] });
    for (const node of placement.nodes) this.scheduler.gpusChanged(node);
  }

  #wait(uid: string): void {
    const promise = this.promiseFor(uid);
    const promised = promise && {
      at: promise.start.toISOString(),
      restsOn: promise.restsOn,
      promisedAt: promise.promisedAt.toISOString(),
      firstPromised: promise.firstStart.toISOString(),
    };
    const conditions = [placed('False', 'WaitingForCapacity')];
    this.#write(uid, { conditions, ...(promised === undefined ? {} : { expectedStart: promised }) });
  }

  #end(uid: string): void {
    const { nodes = [] } = this.#placements.get(uid) ?? {};
    this.#placements.delete(uid);
    this.#ends.delete(uid);
    const [attempt = anAttempt()] = this.#jobs.get(uid)?.status?.attempts ?? [];
    const ended = { ...attempt, stage: 'Ended' as const, outcome: 'Succeeded' as const };
    const complete = { ...placed('True', 'AllRanksSucceeded'), type: 'Complete' };
    const { minutes = 0, predictedMinutes } = this.#facts.get(uid) ?? {};
    const step = Math.round((STEPS * minutes) / (predictedMinutes ?? minutes));
    this.#write(uid, {
      attempts: [ended],
      conditions: [placed('False', 'Finished'), complete],
      progress: { step, reportedAt: this.#now() },
    });
    for (const node of nodes) this.scheduler.gpusChanged(node);
    this.offer();
  }

  #write(uid: string, changes: Partial<TrainingJobStatus>): void {
    const before = this.#jobs.get(uid);
    if (before?.status === undefined) return;
    const { expectedStart: _, ...status } = before.status;
    const after = { ...before, status: { ...status, ...changes } };
    this.#jobs.set(uid, after);
    this.scheduler.jobChanged(before, after);
  }

  #now(): string {
    return new Date(BEGAN_MS + this.minutes * MINUTE_MS).toISOString();
  }

  #viewOfIt(): SchedulerView {
    const used = (): Map<string, number> => {
      const gpus = new Map<string, number>();
      for (const placement of this.#placements.values())
        for (const [name, count] of gpusOfPlacement(placement)) gpus.set(name, (gpus.get(name) ?? 0) + count);
      return gpus;
    };
    return {
      monotonicMs: () => this.minutes * MINUTE_MS,
      now: () => new Date(this.#now()),
      nodes: () => this.#nodes,
      node: (name) => this.#nodes.find((node) => node.name === name),
      reserve: () => undefined,
      gpusUnderPods: (name) => used().get(name) ?? 0,
      gpusUnderPodsByNode: used,
      jobs: () => [...this.#jobs.values()],
      job: (uid) => this.#jobs.get(uid),
      placements: () => [...this.#placements.values()].map(toPlacement),
      settledPods: ({ metadata: { uid } }) => new Set(this.#podsOf(uid)),
    };
  }

  #podsOf(uid: string): readonly string[] {
    const placement = this.#placements.get(uid);
    return (placement?.nodes ?? []).map((_node, podIndex) =>
      podName({ name: uid, uid }, { epoch: 1, podIndex, placement: `${uid}-e1` }),
    );
  }
}

function placed(status: 'True' | 'False', reason: string): Condition {
  return { type: 'Placed', status, reason, message: '', lastTransitionTime: '', observedGeneration: 1 } as Condition;
}

function toPlacement(spec: PlacementSpec): Placement {
  const metadata = { name: `${spec.jobName}-e1`, namespace: '', uid: '', resourceVersion: '' };
  return { apiVersion: 'training.coxswain.dev/v1alpha1', kind: 'Placement', metadata, spec } as Placement;
}
